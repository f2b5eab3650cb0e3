"""What the suite's fixtures import and its source distribution lacks: a broker that runs already, and is not theirs."""


class ExternalService:
    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def stop(self) -> None:
        pass

    def dump_logs(self) -> None:
        pass


class SpawnedService:
    """None is started where KAFKA_URI says which one to use."""
