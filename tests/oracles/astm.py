"""Numbers of ASTM E1049, figure 6: turning points and rainflow cycles."""

FIGURE_6 = [-2.0, 1.0, -3.0, 5.0, -1.0, 3.0, -4.0, 4.0, -2.0]
"""ASTM E1049-85, Fig. 6: the history A to I."""
