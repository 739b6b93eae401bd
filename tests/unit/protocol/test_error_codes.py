import struct

from riverlog.protocol.error_codes import ErrorCode

RETRIABLE_IN_KAFKA = {
    2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100,
    103, 106, 122, 123, 133,
}  # fmt: skip


def test_the_numbers_have_no_gap() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 134))


def test_the_codes_that_a_client_may_retry_are_those_of_kafka() -> None:
    assert {code.value for code in ErrorCode if code.retriable} == RETRIABLE_IN_KAFKA


def test_every_code_says_what_it_means_in_words_of_its_own() -> None:
    texts = [code.text for code in ErrorCode]

    assert all(len(text) > 5 for text in texts)
    assert len(set(texts)) == len(texts)


def test_a_code_is_found_by_its_number_and_goes_into_messages_as_it_is() -> None:
    code = ErrorCode(87)

    assert code is ErrorCode.INVALID_RECORD
    assert struct.pack(">h", code) == b"\0\x57"
