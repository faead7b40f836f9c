"""Bytes to an XML tree with line numbers, safely; and which format of robots' files it is.

No entity is expanded, no DTD read, nothing fetched; size, depth and number of elements are
bounded. Two habits of real URDF files are forgiven because every other reader forgives them: an
XML declaration with an odd version or after blank lines, and undeclared namespace prefixes.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from lxml import etree

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.input_files import regular_file

Element: TypeAlias = "etree._Element"

MAX_BYTES = 32 * 2**20
"""Largest file that is read without being asked, bytes: 150 times the largest robot we know."""

MAX_ELEMENTS = 500_000
"""Most elements in a file: 100 times the largest robot we know; about 0.1 GB as a tree."""

ENCODINGS = re.compile(
    r"ascii|utf[-_](8|16|32)([-_][bl]e)?|utf-8-sig|iso8859-\d+|cp\d+|koi8-[rut]|"
    r"gb2312|gbk|gb18030|big5|shift_jis|euc_(jp|kr|jis_2004)"
)
"""Text encodings, by Python's canonical names; others (zip, hex, idna ...) are not for files."""

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

DECLARATION = re.compile(r"\s*<\?xml\b.*?\?>", re.DOTALL)
DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.\-]{1,40})["']""")
MARKUP = re.compile(r"<!--|<!\[CDATA\[|<!DOCTYPE|<!ENTITY")
HIDING = {"<!--": "-->", "<![CDATA[": "]]>"}
"""What hides markup, and what ends it. Searched step by step: a regular expression for the whole
takes quadratic time on texts made to hurt it."""


def read_bytes(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file of at most `max_bytes`, or say why there is none."""
    name = regular_file(str(path))
    try:
        with open(name, "rb") as stream:
            data = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise FileError(
            f"cannot be opened: {error}. Check its name and permissions", name
        ) from error
    if len(data) > max_bytes:
        raise FileError(
            f"the file has more than {max_bytes} bytes, the largest size that is read by default; "
            "is it the right file? If so, pass a larger max_bytes",
            name,
        )
    return data


def decode(data: bytes, file: str) -> str:
    """Return the text of an XML file, by its byte-order mark or declaration, else as UTF-8."""
    encoding = "utf-8"
    for mark, marked in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked
            break
    else:
        declared = DECLARED_ENCODING.search(data[:1000])
        if declared:
            encoding = declared.group(1).decode("ascii")
    advice = "Save the file as UTF-8 (iconv -f ... -t UTF-8)"
    try:
        canonical = codecs.lookup(encoding).name
        if not ENCODINGS.fullmatch(canonical):
            raise LookupError
        return data.decode(canonical)
    except LookupError:
        raise FileError(f"its encoding {encoding!r} is not known. {advice}", file, 1) from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        message = f"byte {start} is not {encoding} text: not an XML file? {advice}"
        raise FileError(message, file, line) from error


def line_of(element: Element) -> int | None:
    """Return the line (from 1) on which an element starts."""
    line: object = element.sourceline  # the stubs give it no usable type
    return line if isinstance(line, int) else None


def parse(
    text: str,
    file: str,
    max_bytes: int = MAX_BYTES,
    *,
    max_elements: int = MAX_ELEMENTS,
    long_texts: bool = False,
) -> tuple[Element, list[str]]:
    """Return the root element of an XML text, and remarks on what was passed over.

    Parameters
    ----------
    text : of the file
    file : for messages
    max_bytes, max_elements : the largest text that is read
    long_texts : texts of elements may be longer than libxml2's 10 MB, such as the numbers of meshes

    Raises
    ------
    FileError
        The text is not XML, has a DTD or entities, or is too large, too deep or too rich.
    """
    text = text.rstrip("\0 \t\r\n")  # pybullet's own humanoid.urdf ends with a NUL
    if len(text) > max_bytes:
        raise FileError(f"the text is longer than {max_bytes}; pass a larger max_bytes", file)
    if text.count("<") > max_elements or text.count("=") > max_elements:
        raise FileError(f"more than {max_elements} elements or attributes; split the file up", file)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        _refuse_dtd(text, file)
    declaration = DECLARATION.match(text)
    if declaration:  # blanked, not cut, so that line numbers stay
        text = "\n" * declaration.group().count("\n") + text[declaration.end() :]
    data = text.encode("utf-8", "surrogatepass")
    parser = _parser(long_texts)
    try:
        return etree.fromstring(data, parser), []
    except etree.XMLSyntaxError as error:
        log: list[Any] = list(cast(Any, parser.error_log))
        return _second_reading(text, data, file, log, error, long_texts)


def _parser(long_texts: bool, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=long_texts,  # False keeps libxml2's own bounds: depth 256, text 10 MB
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )


def _second_reading(
    text: str,
    data: bytes,
    file: str,
    log: list[Any],
    error: etree.XMLSyntaxError,
    long_texts: bool,
) -> tuple[Element, list[str]]:
    """Return the root all the same if the fault is one that every URDF reader forgives."""
    if log and all(entry.domain_name == "NAMESPACE" for entry in log):
        parser = _parser(long_texts, recover=True)
        root = etree.fromstring(data, parser)
        serious = [e for e in cast(Any, parser.error_log) if e.domain_name != "NAMESPACE"]
        if root is not None and not serious:
            remark = f"line {log[0].line}: {log[0].message}; its names are read as they stand"
            return root, [remark]
    line, column = error.position
    if log and log[-1].type_name == "ERR_DOCUMENT_END":
        lines = text.split("\n")
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        if re.match(r"<[A-Za-z]", rest):
            first = "\n".join([*lines[: line - 1], lines[line - 1][: column - 1]])
            root, remarks = parse(first, file, len(first), long_texts=long_texts)
            remark = f"line {line}: only the first <{root.tag}> is read, what follows is ignored"
            return root, [*remarks, remark]
    reason = error.msg.removesuffix(f", line {line}, column {column}")
    raise FileError(
        f"not well-formed XML: {reason}. Open the file there, or try `xmllint --noout`",
        file,
        line or None,
        f"column {column}" if column else None,
    ) from error


def _refuse_dtd(text: str, file: str) -> None:
    """Refuse documents that define entities: they can grow without bound or read other files."""
    markup = MARKUP.search(text)
    while markup:
        opening = markup.group()
        if opening not in HIDING:
            raise FileError(
                "document types and entities are not read, because they can grow without bound; "
                "remove the declaration and write its values out",
                file,
                text.count("\n", 0, markup.start()) + 1,
                f"{opening}>",
            )
        end = text.find(HIDING[opening], markup.end())
        markup = MARKUP.search(text, end) if end >= 0 else None


# Which format a file has, by what stands in it: its name decides for xacro only.

Format = Literal["URDF", "xacro", "MJCF", "SDF"]
"""What `mbd.load` reads."""

ROOTS: dict[str, Format] = {
    "robot": "URDF",
    "mujoco": "MJCF",
    "mujocoinclude": "MJCF",
    "sdf": "SDF",
    "gazebo": "SDF",
}
"""The outermost elements, and what they tell."""

BEFORE = {"<!--": "-->", "<?": "?>"}
"""What may stand before the outermost element, and what ends it."""

TAG = re.compile(r"<([A-Za-z_][\w:.\-]*)")


def format_of(path: str, data: bytes) -> Format:
    """Return the format of a file by its content; what is not known is URDF's reader's to refuse.

    A xacro file is a program, so its name has to say that it is to be run.
    """
    root = _root(decode(data, path))
    form = ROOTS.get(root, "URDF")
    if form == "URDF" and path.endswith(".xacro"):
        return "xacro"
    if root == "mujocoinclude":
        raise FileError(
            "this is a part of an MJCF model, to be included by another file; load that one", path
        )
    return form


def _root(text: str) -> str:
    """Return the name of the outermost element, "" if none is found.

    Step by step: one regular expression for all takes exponential time on texts made to hurt it.
    """
    start = 0
    while True:
        while start < len(text) and (text[start].isspace() or text[start] == "\ufeff"):
            start += 1
        for opening, closing in BEFORE.items():
            if text.startswith(opening, start):
                end = text.find(closing, start + len(opening))
                if end < 0:
                    return ""
                start = end + len(closing)
                break
        else:
            tag = TAG.match(text, start)
            return tag.group(1) if tag else ""
