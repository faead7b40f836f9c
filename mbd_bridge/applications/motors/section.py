"""Motors in a report: what they have to do, whether they are large enough, and their curves."""

from __future__ import annotations

from mbd_bridge.applications.motors import MotorDuty, Verdict
from mbd_bridge.applications.motors.motors import torque_speed
from mbd_bridge.base.plot_style import drawing, style
from mbd_bridge.base.plots import draw_torque_speed
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.reports.figures import svg
from mbd_bridge.reports.page import charts, table, verdict

HEADING, PLACE = "Motors", 1

GRAVITY = {"fits": 0, "open": 1, "exceeded": 2}
"""Which of several verdicts counts: the one that comes last."""

CHART = (4.3, 4.6)
"""Width and height of a motor's chart, inches: its legend, with peak and RMS, stands below."""

AXES = (0.155, 0.45, 0.825, 0.42)
"""Left, bottom, width and height of the axes in it."""


def text(history: LoadHistory) -> str:
    """Return what each motor has to do, and its torque over speed."""
    motors = history.motors
    if motors is None:
        return ""
    drawn = [_chart(duty) for duty in motors.duties if duty.peak.value]
    shown = "\n".join(map(table, motors.tables()))
    return shown + (charts(drawn) if drawn else "")


def in_short(cases: LoadCases) -> str:
    """Return the verdicts in short: those that are alike in one line, the worst of each motor."""
    lines, several = [], len(cases) > 1
    worst: dict[str, tuple[str, Verdict]] = {}
    for case in cases.cases:
        for duty in case.history.motors.duties if case.history.motors else ():
            known = worst.get(duty.name)
            if known is None or GRAVITY[duty.verdict.state] > GRAVITY[known[1].state]:
                worst[duty.name] = case.name, duty.verdict
    fitting = [name for name, (_, one) in worst.items() if one.state == "fits"]
    if fitting:
        text = f"Large enough, with friction and rotor inertia: motor of {', '.join(fitting)}."
        lines.append(verdict(text, "good"))
    for state, kind in (("exceeded", "bad"), ("noise", "doubt")):
        lines += [
            verdict(f"Motor of {name}{f', {case}' if several else ''}: {one.text}.", kind)
            for name, (case, one) in worst.items()
            if one.reason == state
        ]
    unsaid = [name for name, (_, one) in worst.items() if one.reason == "unknown"]
    if unsaid:
        text = f"No verdict on the motor of {', '.join(unsaid)}: what is missing stands in Motors."
        lines.append(verdict(text, "doubt"))
    return "\n".join(lines)


def _chart(duty: MotorDuty) -> str:
    with style():
        sheet = drawing("matplotlib.figure").Figure(figsize=CHART)
        draw_torque_speed(sheet.add_axes(AXES), torque_speed(duty))
    return svg(sheet, f"torque over speed of the motor of {duty.name}")
