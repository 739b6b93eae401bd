"""Names that Apache Kafka knows and riverlog does not honour.

A `server.properties` written for Kafka is accepted as it is. What means nothing here is named to the
operator in one warning with the reason, so that nobody waits for the effect of a setting that has none;
a name that Kafka does not know either is refused. Two kinds of settings are refused rather than
ignored, since to start without them would break a promise: see `ONLY_ACCEPTED`.

Names are those of Kafka 4.3, and those that 2.x and 3.x had and 4.x dropped.
"""

from __future__ import annotations

from typing import Final

_REASONS: Final[dict[str, str]] = {
    "there is no controller quorum": """
        process.roles
        controller.quorum.voters controller.quorum.bootstrap.servers controller.quorum.append.linger.ms
        controller.quorum.auto.join.enable controller.quorum.election.backoff.max.ms
        controller.quorum.election.timeout.ms controller.quorum.fetch.max.bytes
        controller.quorum.fetch.snapshot.max.bytes controller.quorum.fetch.timeout.ms
        controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
        controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
        broker.heartbeat.interval.ms broker.session.timeout.ms initial.broker.registration.timeout.ms
        early.start.listeners log.dir.failure.timeout.ms server.max.startup.time.ms
        metadata.log.dir metadata.log.max.record.bytes.between.snapshots
        metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes metadata.log.segment.ms
        metadata.log.segment.min.bytes metadata.max.idle.interval.ms metadata.max.retention.bytes
        metadata.max.retention.ms internal.metadata.delete.delay.millis
        internal.metadata.log.segment.bytes internal.metadata.max.batch.size.in.bytes
        unclean.leader.election.interval.ms unstable.api.versions.enable
        unstable.feature.versions.enable zookeeper.metadata.migration.enable
        zookeeper.metadata.migration.min.batch.size eligible.leader.replicas.enable
        """,
    "one event loop serves every request": """
        num.network.threads num.io.threads background.threads queued.max.requests
        num.replica.alter.log.dirs.threads group.coordinator.threads
        group.coordinator.background.threads group.coordinator.append.linger.ms
        group.coordinator.cached.buffer.max.bytes group.consumer.assignor.offload.enable
        group.share.assignor.offload.enable group.streams.assignor.offload.enable
        share.coordinator.threads
        share.coordinator.append.linger.ms share.coordinator.cached.buffer.max.bytes
        share.coordinator.load.buffer.size share.coordinator.write.timeout.ms
        fetch.purgatory.purge.interval.requests producer.purgatory.purge.interval.requests
        delete.records.purgatory.purge.interval.requests share.fetch.purgatory.purge.interval.requests
        """,
    "listeners are plain and open to all so far": """
        inter.broker.listener.name security.inter.broker.protocol security.providers
        principal.builder.class super.users allow.everyone.if.no.acl.found
        connection.failed.authentication.delay.ms connections.max.reauth.ms
        delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
        delegation.token.max.lifetime.ms delegation.token.secret.key delegation.token.master.key
        password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
        password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret
        sasl.client.callback.handler.class sasl.enabled.mechanisms sasl.jaas.config
        sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
        sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name
        sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
        sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms
        sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
        sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
        sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
        sasl.mechanism.controller.protocol sasl.mechanism.inter.broker.protocol
        sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
        sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
        sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
        sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
        sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
        sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
        sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
        sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
        sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
        sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
        sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
        sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class
        sasl.server.max.receive.size
        ssl.allow.dn.changes ssl.allow.san.changes ssl.cipher.suites ssl.client.auth
        ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
        ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
        ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.principal.mapping.rules
        ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
        ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
        """,
    "there is no tiered storage": """
        follower.fetch.last.tiered.offset.enable remote.fetch.max.wait.ms
        remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
        remote.log.index.file.cache.ttl.ms remote.log.manager.copier.thread.pool.size
        remote.log.manager.copy.max.bytes.per.second remote.log.manager.copy.quota.window.num
        remote.log.manager.copy.quota.window.size.seconds
        remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
        remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
        remote.log.manager.follower.thread.pool.size remote.log.manager.task.interval.ms
        remote.log.manager.task.retry.backoff.max.ms remote.log.manager.task.retry.backoff.ms
        remote.log.manager.task.retry.jitter remote.log.manager.thread.pool.size
        remote.log.metadata.custom.metadata.max.bytes remote.log.metadata.manager.class.name
        remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
        remote.log.metadata.manager.listener.name remote.log.reader.max.pending.tasks
        remote.log.reader.threads remote.log.storage.manager.class.name
        remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
        """,
    "no Java classes are loaded": """
        alter.config.policy.class.name create.topic.policy.class.name client.quota.callback.class
        config.providers group.share.assignors group.share.persister.class.name
        kafka.metrics.polling.interval.secs kafka.metrics.reporters metric.reporters
        metrics.num.samples metrics.recording.level metrics.sample.window.ms
        auto.include.jmx.reporter telemetry.max.bytes zookeeper.clientCnxnSocket
        """,
    "ZooKeeper's client decides that itself": """
        zookeeper.max.in.flight.requests zookeeper.set.acl zookeeper.sync.time.ms
        zookeeper.ssl.cipher.suites zookeeper.ssl.client.enable zookeeper.ssl.crl.enable
        zookeeper.ssl.enabled.protocols zookeeper.ssl.endpoint.identification.algorithm
        zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password zookeeper.ssl.keystore.type
        zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol zookeeper.ssl.truststore.location
        zookeeper.ssl.truststore.password zookeeper.ssl.truststore.type
        """,
    "it was dropped from Kafka itself": """
        host.name advertised.host.name advertised.port control.plane.listener.name
        inter.broker.protocol.version log.message.format.version log.message.downconversion.enable
        log.message.timestamp.difference.max.ms broker.id.generation.enable reserved.broker.max.id
        leader.imbalance.per.broker.percentage controlled.shutdown.max.retries
        controlled.shutdown.retry.backoff.ms offsets.commit.required.acks
        quota.producer.default quota.consumer.default
        transaction.abort.timed.out.transaction.cleanup.interval
        """,
    "it cannot be tuned here": """
        add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
        alter.log.dirs.replication.quota.window.num
        alter.log.dirs.replication.quota.window.size.seconds
        replica.alter.log.dirs.io.max.bytes.per.second cordoned.log.dirs log.initial.task.delay.ms
        group.share.assignment.interval.ms group.share.initialize.retry.interval.ms
        group.share.max.assignment.interval.ms group.share.max.delivery.count.limit
        group.share.max.heartbeat.interval.ms group.share.max.partition.max.record.locks
        group.share.max.session.timeout.ms group.share.min.assignment.interval.ms
        group.share.min.delivery.count.limit group.share.min.heartbeat.interval.ms
        group.share.min.partition.max.record.locks group.share.min.session.timeout.ms
        group.share.max.groups
        group.streams.assignment.interval.ms group.streams.heartbeat.interval.ms
        group.streams.initial.rebalance.delay.ms group.streams.max.assignment.interval.ms
        group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms
        group.streams.max.size group.streams.max.standby.replicas
        group.streams.min.assignment.interval.ms group.streams.min.heartbeat.interval.ms
        group.streams.min.session.timeout.ms group.streams.num.standby.replicas
        group.streams.session.timeout.ms share.coordinator.cold.partition.snapshot.interval.ms
        share.coordinator.state.topic.compression.codec
        share.coordinator.state.topic.prune.interval.ms
        socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
        transaction.two.phase.commit.enable
        """,
}

WITHOUT_EFFECT: Final[dict[str, str]] = {
    name: reason for reason, names in _REASONS.items() for name in names.split()
}
"""Names that are accepted and do nothing here, with the reason."""

KEPT_WHEN_ALTERED: Final = frozenset(
    [
        "num.network.threads",
        "num.io.threads",
        "background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "share.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "remote.fetch.max.wait.ms",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.reader.threads",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.copy.max.bytes.per.second",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.fetch.max.bytes.per.second",
        "remote.log.manager.follower.thread.pool.size",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
    ]
)
"""Numbers without effect here that Kafka lets operators alter while it runs: how many threads, how often,
how much. They are kept and told with a warning, so that tools that tune them go on. What says who may do
what, or holds a secret, is not among them: that is refused."""

PLUGIN_PREFIXES: Final = ("listener.name.", "config.providers.", "rsm.config.", "rlmm.config.")
"""Kafka hands what begins so to a listener's security or to a plug-in; here it does nothing."""

ONLY_ACCEPTED: Final[dict[str, tuple[str, str]]] = {
    "authorizer.class.name": (
        "",
        "nothing, since access control is not served yet and ignoring it would open the data",
    ),
    "remote.log.storage.system.enable": ("false", "only false, since there is no tiered storage"),
}
"""Names that would promise something we do not keep: the one value that is accepted, and why."""


def why_without_effect(name: str) -> str | None:
    """Say why a name that Kafka knows has no effect here; None for any other name."""
    if name.startswith(PLUGIN_PREFIXES):
        return "plug-ins are not loaded"
    return WITHOUT_EFFECT.get(name)
