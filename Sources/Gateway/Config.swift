package import PushCore

/// Everything an operator can set: a field with its default here, its name, bounds and reason in `Config.keys`.
///
/// A value of this type is always within its bounds when it came from `load`. Paths are as written: whoever reads the
/// file resolves them against its folder.
package struct Config: Equatable, Sendable {
    /// Which world the instance serves.
    package var environment = Environment.development

    /// Address the provider listener binds.
    package var providerHost = "*"
    /// Ports providers connect to.
    package var providerPorts: [UInt16] = [8443]
    /// Address the channel management listener binds.
    package var channelsHost = "*"
    /// Port of channel management; nil is the environment's, see `effectiveChannelsPort`.
    package var channelsPort: UInt16?
    /// Address the device listener binds.
    package var deviceHost = "*"
    /// Ports devices connect to.
    package var devicePorts: [UInt16] = [5223]
    /// Address the admin listener binds.
    package var adminHost = "127.0.0.1"
    /// Port of the admin API.
    package var adminPort: UInt16 = 8090
    /// Whether the admin API speaks TLS.
    package var adminTLS = false

    /// File of the server's certificate chain.
    package var tlsCertificate = "pki/server.pem"
    /// File of the server's private key.
    package var tlsKey = "pki/server.key"
    /// File of the certificate authority that signs devices; its key lies beside it.
    package var tlsCA = "pki/ca.pem"

    /// Where registrations and queues survive.
    package var store = StoreLocation.sqlite("data/carillon.db")
    /// Event loops; 0 is one per core.
    package var threads = 0

    /// Which pushes a device that is away gets later.
    package var queueMode = QueuePolicy.Mode.queue
    /// Pushes kept per registration without a live session.
    package var queueLimit = 100
    /// The longest a push is kept.
    package var queueMaximumAge = Interval.days(30)

    /// Unacknowledged notifications per session.
    package var deliveryWindow = 32
    /// Pushes waiting per registration with a live session.
    package var deliveryBacklog = 1000
    /// How long a device may take to acknowledge.
    package var deliveryAckTimeout = Interval.seconds(60)
    /// How long priority 5 may wait for a sleeping device.
    package var deliveryLowPriorityDelay = Interval.seconds(30)

    /// Distinct verified provider tokens a connection may use within `Limits.providerTokenUpdateSpan`.
    package var providerTokenUpdates = 5
    /// Whether providers come through a load balancer that says who they are.
    package var providerProxy = false
    /// Whether devices do.
    package var deviceProxy = false
    /// Whether one connection may speak for several teams.
    package var providerSeveralTeams = false
    /// How the answer to a key of the other environment is spelt.
    package var providerEnvironmentKeyReason = EnvironmentKeyReason.wire
    /// How much of a payload is checked.
    package var providerPayload = PayloadCheck.json
    /// Pushes per second and device token; 0 is no limit.
    package var providerTokenRate = 0
    /// How long a provider connection may be silent.
    package var providerIdleTimeout = Interval.seconds(3600)
    /// How long a device session may be silent.
    package var deviceIdleTimeout = Interval.seconds(15 * 60)
    /// How long a provider request may wait for its answer.
    package var providerRequestTimeout = Interval.seconds(30)

    /// Whether the session of a device lets go of OpenSSL after its Connect.
    package var deviceTLSDetach = true
    /// Whether devices get a ticket to resume their TLS session with.
    package var deviceTLSResume = false
    /// Whether devices may sign with RSA and SHA-1.
    package var deviceRSA = true
    /// The smallest RSA key a device may have.
    package var deviceMinimumRSABits = 2048

    /// From "not ready" to refusing new connections.
    package var drainDelay = Interval.zero
    /// The longest a drain lasts.
    package var drainTimeout = Interval.seconds(30)

    /// Connections in all; 0 is what the open-file limit allows.
    package var limitsConnections = 0
    /// Connections from one address; 0 is no limit.
    package var limitsConnectionsPerAddress = 1000
    /// TLS handshakes at a time, per event loop and door.
    package var limitsHandshakes = 64
    /// Failed connections of one address in a minute after which it is dropped for one; 0 never drops.
    package var limitsFailuresPerAddress = 20

    /// What the delivery log records; nil is the environment's, see `effectiveLogDeliveries`.
    package var logDeliveries: LogDeliveries?
    /// How long the delivery log keeps a row.
    package var logKeep = Interval.days(7)
    /// Rows the delivery log keeps.
    package var logRows = 1_000_000
    /// The least severe line that is logged.
    package var logLevel = LogLevel.info
    /// How log lines look; nil is text on a terminal, else JSON.
    package var logFormat: LogFormat?

    #if PLANTED_FAULTS
        /// What a simulation must find.
        package var fault: PlantedFault?
    #endif

    package init() {}

    /// The channel management port: 2195 in development, 2196 in production, unless one was set.
    package var effectiveChannelsPort: UInt16 { channelsPort ?? (environment == .production ? 2196 : 2195) }

    /// What the delivery log records: everything in development, nothing in production, unless it was set.
    package var effectiveLogDeliveries: LogDeliveries { logDeliveries ?? (environment == .production ? .off : .all) }

    /// What queues need to know of it.
    package var queuePolicy: QueuePolicy {
        var policy = QueuePolicy()
        policy.mode = queueMode
        policy.limit = queueLimit
        policy.backlog = deliveryBacklog
        policy.window = deliveryWindow
        policy.acknowledgementTimeout = deliveryAckTimeout
        policy.lowPriorityDelay = deliveryLowPriorityDelay
        #if PLANTED_FAULTS
            policy.fault = fault
        #endif
        return policy
    }

    /// The same settings with what depends on the environment and the machine filled in, to be shown.
    package func resolved(cores: Int) -> Config {
        var copy = self
        copy.channelsPort = effectiveChannelsPort
        copy.logDeliveries = effectiveLogDeliveries
        if threads == 0 { copy.threads = cores }
        return copy
    }
}

/// Where registrations, keys and queues live.
package enum StoreLocation: Equatable, Sendable {
    /// Nowhere: gone with the process, for tests.
    case memory
    case sqlite(_ path: String)
}

/// How the refusal of a key made for the other environment is spelt.
package enum EnvironmentKeyReason: String, CaseIterable, Sendable {
    /// As Apple's servers answer: `BadEnvironmentKeyInToken`.
    case wire
    /// As Apple's documentation says: `BadEnvironmentKeyIdInToken`.
    case documented
}

/// How much of a payload is checked.
package enum PayloadCheck: String, CaseIterable, Sendable {
    /// It must be a JSON object.
    case json
    /// Only that it is there and not too large.
    case opaque
}

/// Which pushes the delivery log records.
package enum LogDeliveries: String, CaseIterable, Sendable {
    case all
    case discarded
    case off
}

/// How severe a log line is, least first.
package enum LogLevel: String, CaseIterable, Comparable, Sendable {
    case trace
    case debug
    case info
    case warning
    case error

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

    /// Rises with how severe it is.
    package var rank: Int {
        switch self {
        case .trace: 0
        case .debug: 1
        case .info: 2
        case .warning: 3
        case .error: 4
        }
    }
}

/// How log lines look.
package enum LogFormat: String, CaseIterable, Sendable {
    case text
    case json
}
