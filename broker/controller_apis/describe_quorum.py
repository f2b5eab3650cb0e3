"""DescribeQuorum, versions 0 to 2, of a controller: what a broker passes on to it."""

from barnabas.broker.apis.describe_quorum import handle as handle
