"""What kafka-python does."""

from kafka import KafkaProducer

from compat.checks import bootstrap, check, equal, main


@check("produce: records have the offsets that they are given")
def offsets() -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap())
    sent = [producer.send("offsets", b"%d" % number) for number in range(3)]
    equal([each.get(10).offset for each in sent], [0, 1, 2])
    producer.close()


if __name__ == "__main__":
    raise SystemExit(main())
