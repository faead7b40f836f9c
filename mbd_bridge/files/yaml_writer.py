"""YAML that `yaml_reader` reads: what sidecars hold, with all digits of its numbers."""

from __future__ import annotations

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """YAML without aliases, whose numbers keep all digits."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out."""
        return True


def _digits(dumper: _Dumper, value: float) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:float", repr(value))


def _block(dumper: _Dumper, value: dict[str, Any]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=False)


_Dumper.add_representer(float, _digits)
_Dumper.add_representer(dict, _block)


def yaml_text(content: dict[str, Any]) -> str:
    """Return tables in lines of their own, lists of numbers in one."""
    text: str = yaml.dump(
        content,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
    return text
