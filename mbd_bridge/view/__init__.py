"""Pictures of machines that move: links, joints, and the loads that joints carry, drawn.

It computes no mechanics: placements and loads come as arrays, pieces of surface with a colour
and a place go to the canvas of a bridge.
"""
