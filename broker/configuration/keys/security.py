"""Who may come in, how they prove who they are, and TLS."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLASS, HIGH, LOW, MEDIUM, PASSWORD, PER_BROKER, READ_ONLY, SHORT, Key, key
from barnabas.broker.configuration.rules import DISTINCT, NO_CLASS, one_of_any_case, only
from barnabas.storage.topic_config_types import ANY, BOOLEAN, DOUBLE, INT, LIST, LONG, STRING, at_least, between, one_of

__all__ = ["WITHOUT_EFFECT", "SecurityKeys"]

PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SecurityKeys:
    """Each is one attribute of the node's configuration."""

    authorizer_class_name: str = key(STRING, "", only("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        LOW, READ_ONLY,
        "Kafka's StandardAuthorizer, for ACLs; empty allows everything.")
    principal_builder_class: str = key(CLASS,
        PRINCIPAL_BUILDER, only(PRINCIPAL_BUILDER), MEDIUM, PER_BROKER,
        "Kafka's DefaultKafkaPrincipalBuilder, the only one there is.")
    connections_max_reauth_ms: int = key(LONG, 0, ANY, MEDIUM, READ_ONLY,
        "How long a session of SASL lasts before a client must prove itself again; 0 is forever.")
    sasl_enabled_mechanisms: tuple[str, ...] = key(LIST, ("GSSAPI",), DISTINCT, MEDIUM, PER_BROKER,
        "The mechanisms of SASL that clients may use.")
    sasl_mechanism_inter_broker_protocol: str = key(STRING, "GSSAPI", ANY, MEDIUM, PER_BROKER,
        "The mechanism of SASL that brokers use among themselves.")
    sasl_mechanism_controller_protocol: str = key(STRING, "GSSAPI", ANY, HIGH, READ_ONLY,
        "The mechanism of SASL towards controllers.")
    sasl_jaas_config: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "Users and passwords of a mechanism, as Kafka's login modules write them.")
    sasl_server_max_receive_size: int = key(INT, 524_288, ANY, MEDIUM, READ_ONLY,
        "The most bytes of one message of an authentication.")
    sasl_oauthbearer_clock_skew_seconds: int = key(INT, 30, ANY, LOW, READ_ONLY,
        "How far the clocks of this node and of the issuer of tokens may be apart.")
    sasl_oauthbearer_expected_audience: tuple[str, ...] = key(LIST, (), DISTINCT, HIGH, READ_ONLY,
        "The audiences that a token must be meant for, one of them.")
    sasl_oauthbearer_expected_issuer: str | None = key(STRING, None, ANY, HIGH, READ_ONLY,
        "The issuer that a token must come from.")
    sasl_oauthbearer_jwks_endpoint_url: str | None = key(STRING, None, ANY, MEDIUM, READ_ONLY,
        "Where the keys are that sign tokens.")
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = key(LONG, 3_600_000, ANY, LOW, READ_ONLY,
        "How often those keys are fetched again.")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = key(LONG, 100, ANY, LOW, READ_ONLY,
        "The pause before keys are asked for again.")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = key(LONG, 10_000, ANY, LOW, READ_ONLY,
        "The longest pause before keys are asked for again.")
    sasl_oauthbearer_scope_claim_name: str = key(STRING, "scope", ANY, LOW, READ_ONLY,
        "Where a token says what it allows.")
    sasl_oauthbearer_sub_claim_name: str = key(STRING, "sub", ANY, LOW, READ_ONLY,
        "Where a token says whom it is of.")
    ssl_client_auth: str = key(STRING, "none", one_of("required", "requested", "none"), MEDIUM, PER_BROKER,
        "Whether clients must show a certificate: required, requested, none.")
    ssl_enabled_protocols: tuple[str, ...] = key(LIST, ("TLSv1.2", "TLSv1.3"), DISTINCT, MEDIUM, PER_BROKER,
        "The versions of TLS that may be used.")
    ssl_protocol: str = key(STRING, "TLSv1.3", ANY, MEDIUM, PER_BROKER,
        "The highest version of TLS that is tried towards other nodes.")
    ssl_cipher_suites: tuple[str, ...] = key(LIST, (), DISTINCT, MEDIUM, PER_BROKER,
        "The ciphers that may be used; empty leaves it to the system.")
    ssl_endpoint_identification_algorithm: str = key(STRING, "https", ANY, LOW, PER_BROKER,
        "Whether the names in certificates are compared: https, or empty for not.")
    ssl_keystore_type: str = key(STRING, "JKS", ANY, MEDIUM, PER_BROKER,
        "The kind of the keystore.")
    ssl_keystore_location: str | None = key(STRING, None, ANY, MEDIUM, PER_BROKER,
        "The file of this node's key and certificate.")
    ssl_keystore_password: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "The password of the keystore.")
    ssl_keystore_key: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "This node's key itself, as PEM.")
    ssl_keystore_certificate_chain: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "This node's certificate itself, as PEM.")
    ssl_key_password: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "The password of this node's key.")
    ssl_truststore_type: str = key(STRING, "JKS", ANY, MEDIUM, PER_BROKER,
        "The kind of the truststore.")
    ssl_truststore_location: str | None = key(STRING, None, ANY, MEDIUM, PER_BROKER,
        "The file of the certificates that are trusted.")
    ssl_truststore_password: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "The password of the truststore.")
    ssl_truststore_certificates: str | None = key(PASSWORD, None, ANY, MEDIUM, PER_BROKER,
        "The certificates that are trusted themselves, as PEM.")
    ssl_principal_mapping_rules: str = key(STRING, "DEFAULT", ANY, LOW, READ_ONLY,
        "How the name of a certificate becomes the name of a user.")


WITHOUT_EFFECT = (
    Key("ssl.allow.dn.changes", BOOLEAN, False, ANY, LOW, READ_ONLY),
    Key("ssl.allow.san.changes", BOOLEAN, False, ANY, LOW, READ_ONLY),
    Key("ssl.engine.factory.class", CLASS, None, NO_CLASS, LOW, PER_BROKER),
    Key("ssl.keymanager.algorithm", STRING, "SunX509", ANY, MEDIUM, PER_BROKER),
    Key("ssl.trustmanager.algorithm", STRING, "PKIX", ANY, MEDIUM, PER_BROKER),
    Key("ssl.provider", STRING, None, ANY, MEDIUM, PER_BROKER),
    Key("ssl.secure.random.implementation", STRING, None, ANY, LOW, PER_BROKER),
    Key("security.providers", STRING, None, ANY, LOW, READ_ONLY),
    Key("sasl.server.callback.handler.class", CLASS, None, NO_CLASS, MEDIUM, READ_ONLY),
    Key("sasl.client.callback.handler.class", CLASS, None, NO_CLASS, MEDIUM, READ_ONLY),
    Key("sasl.login.callback.handler.class", CLASS, None, NO_CLASS, MEDIUM, READ_ONLY),
    Key("sasl.login.class", CLASS, None, NO_CLASS, MEDIUM, READ_ONLY),
    Key("sasl.login.connect.timeout.ms", INT, None, ANY, LOW, READ_ONLY),
    Key("sasl.login.read.timeout.ms", INT, None, ANY, LOW, READ_ONLY),
    Key("sasl.login.refresh.buffer.seconds", SHORT, 300, ANY, MEDIUM, PER_BROKER),
    Key("sasl.login.refresh.min.period.seconds", SHORT, 60, ANY, MEDIUM, PER_BROKER),
    Key("sasl.login.refresh.window.factor", DOUBLE, 0.8, ANY, MEDIUM, PER_BROKER),
    Key("sasl.login.refresh.window.jitter", DOUBLE, 0.05, ANY, MEDIUM, PER_BROKER),
    Key("sasl.login.retry.backoff.ms", LONG, 100, ANY, LOW, READ_ONLY),
    Key("sasl.login.retry.backoff.max.ms", LONG, 10_000, ANY, LOW, READ_ONLY),
    Key("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", ANY, MEDIUM, PER_BROKER),
    Key("sasl.kerberos.min.time.before.relogin", LONG, 60_000, ANY, MEDIUM, PER_BROKER),
    Key("sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",), DISTINCT, MEDIUM, PER_BROKER),
    Key("sasl.kerberos.service.name", STRING, None, ANY, MEDIUM, PER_BROKER),
    Key("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, ANY, MEDIUM, PER_BROKER),
    Key("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, ANY, MEDIUM, PER_BROKER),
    Key("sasl.oauthbearer.assertion.algorithm", STRING, "RS256", one_of_any_case("ES256", "RS256"), MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.claim.aud", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.claim.exp.seconds", INT, 300, between(0, 86_400), LOW, READ_ONLY),
    Key("sasl.oauthbearer.assertion.claim.iss", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.claim.jti.include", BOOLEAN, False, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.claim.nbf.seconds", INT, 60, between(0, 3600), LOW, READ_ONLY),
    Key("sasl.oauthbearer.assertion.claim.sub", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.file", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.private.key.file", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.private.key.passphrase", PASSWORD, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.assertion.template.file", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.client.credentials.client.id", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.client.credentials.client.secret", PASSWORD, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.jwt.retriever.class",
        CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.jwt.validator.class",
        CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.scope", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("sasl.oauthbearer.token.endpoint.url", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("delegation.token.expiry.check.interval.ms", LONG, 3_600_000, at_least(1), LOW, READ_ONLY),
    Key("delegation.token.expiry.time.ms", LONG, 86_400_000, at_least(1), MEDIUM, READ_ONLY),
    Key("delegation.token.max.lifetime.ms", LONG, 604_800_000, at_least(1), MEDIUM, READ_ONLY),
    Key("delegation.token.secret.key", PASSWORD, None, ANY, MEDIUM, READ_ONLY),
)
