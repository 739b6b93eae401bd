"""Settings: whatever text comes in, it is understood or refused, and what was understood stays the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from riverlog.config.effective import Given, Source, effective_config
from riverlog.config.properties import read_properties
from riverlog.config.setting import Setting
from riverlog.config.table import BROKER_NAMES, ROWS

SETTINGS = [row.setting for row in ROWS]
NEARLY_VALUES = st.one_of(
    st.text(max_size=20),
    st.integers().map(str),
    st.floats().map(repr),
    st.lists(
        st.sampled_from(["compact", "delete", "uniform", "range", "classic", "1:2", "*", "h:5", ""])
    ).map(",".join),
    st.sampled_from(
        ["true", "FALSE", "zstd", "A://h:1", "A://[::1]:0,B://:65535", "A:SSL,B:PLAINTEXT", "h:1,[::1]:2"]
    ),
)


@given(st.sampled_from(SETTINGS), NEARLY_VALUES)
def test_any_text_is_refused_or_means_the_same_however_often_it_is_written(
    declared: Setting, text: str
) -> None:
    for kind in {declared.kind, declared.topic_kind}:
        try:
            value = kind.parse(text)
        except ValueError:
            continue

        canonical = kind.canonical(text)
        written = kind.format(value)

        assert written is None or kind.parse(written) == value
        assert canonical is None or kind.parse(canonical) == value
        assert canonical is None or kind.canonical(canonical) == canonical


@given(st.text(alphabet=st.sampled_from("ab=: \t\f\\\n\r#!u0é"), max_size=40))
def test_any_text_is_a_file_of_properties_or_refused(text: str) -> None:
    try:
        properties = read_properties(text)
    except ValueError:
        assert "\\u" in text
        return

    assert [line for _, _, line in properties] == sorted(line for _, _, line in properties)


def escaped(text: str) -> str:
    return "".join(
        f"\\u{ord(character):04x}" if character < "!" or character in "\\#!=:" else character
        for character in text
    )


PROPERTIES = st.dictionaries(
    st.text(alphabet=st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), min_size=1, max_size=10),
    st.text(alphabet=st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=10),
    max_size=5,
)


@given(PROPERTIES, st.sampled_from(["=", " : ", "\t"]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_properties_that_were_written_are_read_back(
    written: dict[str, str], separator: str, line_end: str
) -> None:
    text = line_end.join(f"  {escaped(key)}{separator}{escaped(value)}" for key, value in written.items())

    assert {key: value for key, value, _ in read_properties(text)} == written


RETENTION = {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}
LAYERS = st.lists(st.dictionaries(st.sampled_from(list(RETENTION)), st.integers(1, 1000)), max_size=4)


@given(LAYERS)
def test_the_strongest_layer_counts_and_in_it_the_finest_unit(layers: list[dict[str, int]]) -> None:
    row = BROKER_NAMES["log.retention.ms"]
    as_given = [
        {name: Given(name, str(number), Source.STATIC, "") for name, number in layer.items()}
        for layer in layers
    ]
    speaking = [layer for layer in layers if layer]

    config = effective_config(as_given)

    if speaking:
        name = next(name for name in RETENTION if name in speaking[-1])
        assert config.settings.topic_defaults.retention_ms == speaking[-1][name] * RETENTION[name]
        assert config.chain(row)[0].name == name
    else:
        assert config.settings.topic_defaults.retention_ms == row.setting.default
