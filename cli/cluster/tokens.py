"""`barnabas cluster tokens`: what kafka-delegation-tokens.sh does, with its lines."""

from __future__ import annotations

import argparse
import base64
import binascii
import time
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, add_output_arguments
from barnabas.client.cluster import Cluster, check
from barnabas.protocol.apis import APIS
from barnabas.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from barnabas.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "describe": "the tokens of this user, or of those of --owner-principal",
        "create": "make a token",
        "renew": "let a token live longer",
        "expire": "let a token end sooner, or now",
    },
    operand="",
    default="describe",
)
_ALLOWED = {
    "owner_principal": ("describe", "create"),
    "renewer_principal": ("create",),
    "max_life_time_period": ("create",),
    "renew_time_period": ("renew",),
    "expiry_time_period": ("expire",),
    "hmac": ("renew", "expire"),
}
_CREATE, _KNOWS_OWNERS = APIS[38], 3
_HEADERS = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
_WIDTHS = (15, 30, 15, 15, 25, 15, 15, 15)


class Token(NamedTuple):
    token_id: str
    hmac: str
    owner: str
    requester: str
    renewers: list[str]
    issued_ms: int
    expires_ms: int
    longest_ms: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    for name in ("owner", "renewer"):
        parser.add_argument(
            f"--{name}-principal", action="append", type=_principal, metavar="User:NAME", help="any number"
        )
    for name, text in (
        ("max-life-time-period", "create: how long it can be renewed; -1 as long as the brokers allow"),
        ("renew-time-period", "renew: for how long; -1 as long as the brokers allow"),
        ("expiry-time-period", "expire: after which time; -1 at once"),
    ):
        parser.add_argument(f"--{name}", type=int, metavar="MS", help=text)
    parser.add_argument("--hmac", metavar="TEXT", help="renew, expire: of which token")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = text.strip().partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text} is no principal: write User:{kind or 'NAME'}")
    return kind, name


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    if words:
        raise WrongUsage(f"{words[0]} is not understood")
    for name, allowed in _ALLOWED.items():
        if getattr(arguments, name) is not None and action not in allowed:
            flag = name.replace("_", "-")
            raise WrongUsage(f"--{flag} cannot be used with --{action}: it goes with --{' and --'.join(allowed)}")
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        if action == "describe":
            _describe(cluster, arguments.owner_principal or [], output)
        elif action == "create":
            _create(cluster, arguments, output)
        else:
            _change(cluster, action, arguments, output)


def _names(principals: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{kind}:{name}" for kind, name in principals]


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _describe(cluster: Cluster, owners: Sequence[tuple[str, str]], output: Output) -> None:
    if owners:
        output.line(f"Calling describe token operation for owners: {_listed(_names(owners))}")
    else:
        output.line("Calling describe token operation for current user.")
    wanted = [DescribeDelegationTokenOwner(principal_type=kind, principal_name=name) for kind, name in owners]
    request = DescribeDelegationTokenRequest(owners=wanted or None)
    answer = cluster.ask(request, DescribeDelegationTokenResponse)
    check(answer.error_code)
    tokens = [
        Token(
            each.token_id,
            base64.b64encode(each.hmac).decode(),
            f"{each.principal_type}:{each.principal_name}",
            f"{each.token_requester_principal_type}:{each.token_requester_principal_name}",
            [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in each.renewers],
            each.issue_timestamp,
            each.expiry_timestamp,
            each.max_timestamp,
        )
        for each in answer.tokens
    ]
    output.line(f"Total number of tokens : {len(tokens)}{_table(tokens)}")
    if output.as_json:
        output.json([token._asdict() for token in tokens])


def _create(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    longest_ms = arguments.max_life_time_period
    if longest_ms is None:
        raise WrongUsage("say how long it can live: --max-life-time-period MS, -1 for as long as the brokers allow")
    renewers = arguments.renewer_principal or []
    who = _listed(_names(renewers))
    output.line(f"Calling create token operation with renewers :{who} , max-life-time-period :{longest_ms}")
    request = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in renewers],
        max_lifetime_ms=longest_ms,
    )
    owners = arguments.owner_principal or [(None, None)]
    if arguments.owner_principal or cluster.version_of(_CREATE) >= _KNOWS_OWNERS:
        request.owner_principal_type, request.owner_principal_name = owners[0]
    made = cluster.ask(request, CreateDelegationTokenResponse)
    check(made.error_code)
    token = Token(
        made.token_id,
        base64.b64encode(made.hmac).decode(),
        f"{made.principal_type}:{made.principal_name}",
        f"{made.token_requester_principal_type}:{made.token_requester_principal_name}",
        _names(renewers),
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
    )
    output.line(f"Created delegation token with tokenId : {token.token_id}")
    output.line(_table([token]))
    if output.as_json:
        output.json(token._asdict())


def _change(cluster: Cluster, action: str, arguments: argparse.Namespace, output: Output) -> None:
    flag = "renew-time-period" if action == "renew" else "expiry-time-period"
    period_ms = getattr(arguments, flag.replace("-", "_"))
    if arguments.hmac is None or period_ms is None:
        raise WrongUsage(f"say which token, and for how long: --hmac TEXT --{flag} MS")
    try:
        hmac = base64.b64decode(arguments.hmac, validate=True)
    except binascii.Error:
        raise WrongUsage(f"--hmac {arguments.hmac} is not in base 64: describe shows it") from None
    output.line(f"Calling {action} token operation with hmac :{arguments.hmac} , {flag} :{period_ms}")
    if action == "renew":
        renewed = cluster.ask(
            RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms), RenewDelegationTokenResponse
        )
        code, expires_ms = renewed.error_code, renewed.expiry_timestamp_ms
    else:
        expired = cluster.ask(
            ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms), ExpireDelegationTokenResponse
        )
        code, expires_ms = expired.error_code, expired.expiry_timestamp_ms
    check(code)
    output.line(f"Completed {action} operation. New expiry date : {_date(expires_ms)}")
    if output.as_json:
        output.json({"expires_ms": expires_ms})


def _table(tokens: Sequence[Token]) -> str:
    """As Kafka's tool prints it: an empty line before each row."""
    rows: list[Sequence[str]] = [_HEADERS]
    for token in tokens:
        dates = [_date(each) for each in (token.issued_ms, token.expires_ms, token.longest_ms)]
        rows.append([token.token_id, token.hmac, token.owner, token.requester, _listed(token.renewers), *dates])
    lines = (" ".join(f"{cell:<{width}}" for cell, width in zip(row, _WIDTHS, strict=True)) for row in rows)
    return "\n" + "\n\n".join(lines)


def _date(moment_ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.localtime(moment_ms / 1000))
