"""DescribeCluster: the brokers, for who wants nothing else."""

from __future__ import annotations

from compat.twin.scenario import scenario
from compat.twin.twins import Twins


@scenario("DescribeCluster")
def as_it_is(twins: Twins) -> None:
    for operations in (False, True):
        twins.ask("DescribeCluster", IncludeClusterAuthorizedOperations=operations)


@scenario("DescribeCluster", first=1)
def of_each_kind_of_endpoint(twins: Twins) -> None:
    """1 are brokers, 2 controllers, for whom a broker does not speak."""
    for kind in (0, 1, 2, 3, -1, 127):
        twins.ask("DescribeCluster", EndpointType=kind)
        twins.ask("DescribeCluster", EndpointType=kind, IncludeClusterAuthorizedOperations=True)


@scenario("DescribeCluster", first=2)
def with_fenced_brokers(twins: Twins) -> None:
    """There are none; a controller has no brokers to tell of."""
    for kind in (1, 2):
        twins.ask("DescribeCluster", EndpointType=kind, IncludeFencedBrokers=True)
