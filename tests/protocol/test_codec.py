"""The codec's own rules, shown on small messages; equality with other codecs is tested beside this."""

from __future__ import annotations

import pytest

from barnabas.protocol.codec import UnencodableMessage, decode, decode_from, encode
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from barnabas.protocol.messages.header import RequestHeader
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.records.cluster_metadata import TopicRecord
from barnabas.protocol.records.consumer_group import ClassicMemberMetadata, ConsumerGroupMemberMetadataValue
from barnabas.protocol.schema import Kept, Message, UnknownTag, Uuid, Versions

TOPIC_ID = Uuid.parse("AAECAwQFBgcICQoLDA0ODw")


def test_a_field_is_its_default_where_its_version_lacks_it() -> None:
    message = FetchRequest(max_wait_ms=1, session_epoch=9, topics=[FetchTopic(topic="t")])
    old = decode(FetchRequest, 4, encode(message, 4))
    assert (old.session_epoch, old.topics[0].topic) == (-1, "t")
    assert decode(FetchRequest, 7, encode(message, 7)).session_epoch == 9


def test_an_ignorable_field_is_dropped_and_any_other_refused() -> None:
    assert decode(FetchRequest, 4, encode(FetchRequest(rack_id="r1"), 4)).rack_id == ""
    with pytest.raises(UnencodableMessage, match="FetchRequest v15: replica_id is set"):
        encode(FetchRequest(replica_id=3), 15)
    with pytest.raises(UnencodableMessage, match="replica_state is set"):
        encode(FetchRequest(replica_state=ReplicaState(replica_id=3)), 14)


def test_null_travels_only_where_the_version_has_it() -> None:
    assert decode(MetadataRequest, 1, encode(MetadataRequest(topics=None), 1)).topics is None
    with pytest.raises(UnencodableMessage):
        encode(MetadataRequest(topics=None), 0)
    with pytest.raises(MalformedFrame, match="topics is null"):
        decode(MetadataRequest, 0, b"\xff\xff\xff\xff")


def test_null_in_a_list_that_a_version_lacks_is_no_default() -> None:
    with pytest.raises(UnencodableMessage, match="topics is set"):
        encode(OffsetFetchRequest(topics=None), 8)


@pytest.mark.parametrize(
    ("data", "topics"),
    [
        (b"\xff\xff\xff\xff\x0f\0\0\0\0", None),  # -1 to Java, which takes any length below zero for null
        (b"\xff\xff\xff\xff\x7f\0\0\0\0", None),  # bits beyond the 32nd are dropped
        (b"\x01\0\0\0\xff\xff\xff\xff\x0f", []),  # a count of -1 tags is none
    ],
)
def test_varints_are_javas_ints(data: bytes, topics: list[object] | None) -> None:
    """Asked of Kafka's own MetadataRequestData."""
    assert decode_from(MetadataRequest, 10, data)[0].topics == topics


def test_an_unknown_tag_below_zero_is_malformed() -> None:
    with pytest.raises(MalformedFrame, match="tag -1 claims a size of 1"):
        decode_from(ApiVersionsRequest, 3, b"\x01\x01\x01\xff\xff\xff\xff\x0f\x01x")


@pytest.mark.parametrize("size", [b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08"])
def test_an_unknown_tag_of_negative_size_is_malformed(size: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_from(ApiVersionsRequest, 3, b"\x01\x01\x01\x63" + size + b"\0" * 8)


def test_a_tagged_field_travels_only_when_it_is_not_its_default() -> None:
    plain = encode(FetchRequest(), 15)
    assert encode(FetchRequest(replica_state=ReplicaState()), 15) == plain
    state = ReplicaState(replica_id=3, replica_epoch=4)
    with_state = encode(FetchRequest(replica_state=state), 15)
    assert with_state == plain[:-1] + b"\x01\x01\x0d" + b"\0\0\0\3" + b"\0\0\0\0\0\0\0\4" + b"\0"
    assert decode(FetchRequest, 15, with_state).replica_state == state
    assert decode(FetchRequest, 15, plain).replica_state is None


def test_unknown_tags_are_kept_and_written_in_order() -> None:
    record = TopicRecord(name="t", topic_id=TOPIC_ID, unknown_tags=(UnknownTag(300, b"later"), UnknownTag(2, b"")))
    data = encode(record, 0)
    assert data == b"\x02t" + TOPIC_ID + b"\x02" + b"\x02\x00" + b"\xac\x02\x05later"
    again = decode(TopicRecord, 0, data)
    assert again.unknown_tags == (UnknownTag(2, b""), UnknownTag(300, b"later"))
    assert encode(again, 0) == data
    with pytest.raises(UnencodableMessage, match="unknown_tags"):
        encode(FetchRequest(unknown_tags=(UnknownTag(9, b""),)), 4)


def test_unknown_tags_stand_between_known_ones_by_number() -> None:
    partition = FetchPartition(replica_directory_id=TOPIC_ID, high_watermark=5, unknown_tags=(UnknownTag(7, b"x"),))
    message = FetchRequest(topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[partition])])
    again = decode(FetchRequest, 18, encode(message, 18))
    assert again == message


def test_a_nullable_tagged_struct_says_null_aloud() -> None:
    """The one field of its kind: absent means an object of defaults, and null takes a byte of its own."""
    absent = encode(ConsumerGroupMemberMetadataValue(), 0)
    null = encode(ConsumerGroupMemberMetadataValue(classic_member_metadata=None), 0)
    assert null == absent[:-1] + b"\x01\x00\x01\x00"
    assert decode(ConsumerGroupMemberMetadataValue, 0, null).classic_member_metadata is None
    assert decode(ConsumerGroupMemberMetadataValue, 0, absent).classic_member_metadata == ClassicMemberMetadata()


def test_text_that_is_no_utf_8_is_replaced_as_java_does() -> None:
    assert decode(ApiVersionsRequest, 3, b"\x03a\xff\x01\x00").client_software_name == "a\ufffd"


def test_the_client_id_of_a_header_stays_classic_in_the_flexible_version() -> None:
    header = RequestHeader(18, 3, 1, "me")
    assert encode(header, 2) == b"\0\x12\0\3\0\0\0\1" + b"\0\2me" + b"\0"
    assert decode(RequestHeader, 2, encode(header, 2)) == header


def test_strings_have_kafkas_limit() -> None:
    longest = "x" * 0x7FFF
    for version in (0, 9):
        message = MetadataRequest(topics=[MetadataRequestTopic(name=longest)])
        assert decode(MetadataRequest, version, encode(message, version)) == message
        message.topics = [MetadataRequestTopic(name=longest + "x")]
        with pytest.raises(UnencodableMessage):
            encode(message, version)
    too_long = b"\x81\x80\x02" + b"x" * 0x8000
    with pytest.raises(MalformedFrame, match="client_software_name claims a length of 32768"):
        decode(ApiVersionsRequest, 3, too_long + b"\x01\x00")


def test_bytes_behind_a_message_are_refused_by_decode_and_told_by_decode_from() -> None:
    data = encode(ApiVersionsRequest(), 3)
    with pytest.raises(MalformedFrame, match="2 bytes follow ApiVersionsRequest v3"):
        decode(ApiVersionsRequest, 3, data + b"ab")
    assert decode_from(ApiVersionsRequest, 3, b"##" + data + b"ab", 2) == (ApiVersionsRequest(), 2 + len(data))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_can_be_decoded(kind: type) -> None:
    message = FetchRequest(topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(partition=1)])])
    decoded = decode(FetchRequest, 17, kind(encode(message, 17)))
    assert decoded == message
    assert type(decoded.topics[0].topic_id) is Uuid


def test_messages_compare_and_print_by_what_is_set() -> None:
    message = FetchRequest(max_wait_ms=5, topics=[FetchTopic(topic="t")])
    assert repr(message) == "FetchRequest(max_wait_ms=5, topics=[FetchTopic(topic='t')])"
    assert message == FetchRequest(max_wait_ms=5, topics=[FetchTopic(topic="t")])
    assert message != FetchRequest(max_wait_ms=5)
    assert message != Message()
    assert FetchRequest().topics is not FetchRequest().topics


def test_uuids_print_and_parse_as_kafkas() -> None:
    assert str(TOPIC_ID) == "AAECAwQFBgcICQoLDA0ODw"
    assert bytes(16) == Uuid.ZERO == Uuid()
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        Uuid(b"abc")
    assert str(Uuid.ZERO) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert Uuid.parse(str(TOPIC_ID) + "==") == TOPIC_ID
    for text in (
        "",
        "short",
        "not base64 at all!!!!!",
        "AAECAwQFBgcICQoLDA0ODwAA",
        "AAECAwQFBgcICQoLDA0OD+",
        "x" * 22 + "=",
    ):
        with pytest.raises(ValueError, match="no Kafka uuid"):
            Uuid.parse(text)


def test_versions_are_written_as_kafka_writes_them() -> None:
    assert Versions.parse("3") == (3, 3)
    assert Versions.parse("4-18") == (4, 18)
    assert 32767 in Versions.parse("12+")
    assert 11 not in Versions.parse("12+")
    assert 0 not in Versions.parse("none")


def test_a_kept_array_is_encoded_once_for_each_version() -> None:
    def topics() -> list[MetadataResponseTopic]:
        return [
            MetadataResponseTopic(name=name, partitions=[MetadataResponsePartition(partition_index=7, isr_nodes=[1])])
            for name in ("first", "second")
        ]

    kept = Kept(topics())
    for version in (1, 9, 12):
        plain = encode(MetadataResponse(topics=topics()), version)
        assert encode(MetadataResponse(topics=kept), version) == plain
        assert kept.encoded[version] in plain
    kept[0].name = "other"
    assert encode(MetadataResponse(topics=kept), 12) == encode(MetadataResponse(topics=topics()), 12)
    assert encode(MetadataResponse(topics=kept), 11) != encode(MetadataResponse(topics=topics()), 11)


def test_a_kept_array_that_cannot_be_encoded_is_not_kept() -> None:
    kept = Kept([MetadataResponseTopic(name="first"), MetadataResponseTopic(name=None)])
    for _ in range(2):
        with pytest.raises(UnencodableMessage):
            encode(MetadataResponse(topics=kept), 9)
    assert kept.encoded == {}
