import PushCore

extension Config {
    /// Every setting, in the order of the file: its name, its field, how it is written, and why it is as it is.
    package static let keys: [ConfigKey] = listenerKeys + instanceKeys + queueKeys + providerKeys + limitKeys + logKeys

    /// The row of a setting, by its exact name.
    package static func key(named name: String) -> ConfigKey? { keys.first { $0.name == name } }

    private static let listenerKeys: [ConfigKey] = [
        ConfigKey(
            "environment",
            \.environment,
            .choice(),
            "Tokens, keys and channels of one environment are refused in the other."
        ),
        ConfigKey(
            "provider.host",
            \.providerHost,
            .host,
            "Where providers connect. * is IPv6 dual stack, else IPv4."
        ),
        ConfigKey(
            "provider.port",
            \.providerPorts,
            .ports,
            "A list is allowed. APNs listens on 443 and 2197; 8443 needs no privilege."
        ),
        ConfigKey("channels.host", \.channelsHost, .host, "Where broadcast channels are managed."),
        ConfigKey(
            "channels.port",
            automatic: \.channelsPort,
            .port,
            "auto is APNs's own port: 2195 in development, 2196 in production."
        ),
        ConfigKey("device.host", \.deviceHost, .host, "Where devices connect. * is IPv6 dual stack, else IPv4."),
        ConfigKey(
            "device.port",
            \.devicePorts,
            .ports,
            "A list is allowed. Devices of APNs use 5223, and 443 where that is blocked."
        ),
        ConfigKey(
            "admin.host",
            \.adminHost,
            .host,
            "Where operators connect. Anything but loopback needs admin.tls = on, for a token crosses the wire."
        ),
        ConfigKey("admin.port", \.adminPort, .port, "Admin API and metrics, HTTP/1.1."),
        ConfigKey("admin.tls", \.adminTLS, .flag, "TLS on the admin listener, with the server's certificate."),
    ]

    private static let instanceKeys: [ConfigKey] = [
        ConfigKey("tls.certificate", \.tlsCertificate, .path, "The server's certificate chain, PEM.").live,
        ConfigKey("tls.key", \.tlsKey, .path, "The server's private key, PEM, readable by its owner only.").live,
        ConfigKey(
            "tls.ca",
            \.tlsCA,
            .path,
            "The authority that signs devices, PEM; its key is the file beside it that ends in .key."
        ).live,
        ConfigKey(
            "store",
            \.store,
            .store,
            "What survives a restart: sqlite:PATH. memory: forgets everything and is for tests."
        ),
        ConfigKey(
            "threads",
            \.threads,
            .count(0...256, zero: "one per core"),
            "Event loops. More than cores only adds switching."
        ),
    ]

    private static let queueKeys: [ConfigKey] = [
        ConfigKey(
            "queue.mode",
            \.queueMode,
            .choice(),
            "queue keeps every push for a device that is away; apple keeps the newest per device and app."
        ),
        ConfigKey(
            "queue.limit",
            \.queueLimit,
            .count(1...100_000),
            "Pushes kept per registration while its device is away; past it the oldest goes: a phone that was off "
                + "for a week wants the latest."
        ),
        ConfigKey(
            "queue.maximumAge",
            \.queueMaximumAge,
            .duration(.seconds(1) ... .days(30)),
            "A push without a nearer expiration is kept this long; APNs keeps none longer than 30 days."
        ).live,
        ConfigKey(
            "delivery.window",
            \.deliveryWindow,
            .count(1...1000),
            "Unacknowledged notifications per session: bounds what is sent twice after a lost connection."
        ),
        ConfigKey(
            "delivery.backlog",
            \.deliveryBacklog,
            .count(1...100_000),
            "Pushes waiting per registration while its device is connected; past it a new one gets 429 and "
                + "nothing accepted is dropped."
        ),
        ConfigKey(
            "delivery.ackTimeout",
            \.deliveryAckTimeout,
            .duration(.milliseconds(100) ... .seconds(3600)),
            "Then a notification is sent again on the same session, at most \(Limits.resends) times, then the session "
                + "is closed."
        ),
        ConfigKey(
            "delivery.lowPriorityDelay",
            \.deliveryLowPriorityDelay,
            .duration(.zero ... .seconds(3600), zero: "priority 5 never waits"),
            "How long priority 5 may wait for a sleeping device, so that it wakes once for several."
        ),
    ]

    private static let providerKeys: [ConfigKey] = [
        ConfigKey(
            "provider.tokenUpdates",
            \.providerTokenUpdates,
            .count(1...10_000),
            "Distinct verified tokens a connection may use in any "
                + "\(Limits.providerTokenUpdateSpan.milliseconds / 60_000) minutes. 1 is Apple's letter; 5 spares "
                + "senders whose workers share a connection."
        ).live,
        ConfigKey(
            "provider.proxy",
            \.providerProxy,
            .flag,
            "on: each connection to provider.port and channels.port begins with a PROXY protocol v2 header, whose "
                + "address counts. Only where nobody but the load balancer can connect, for it is believed."
        ),
        ConfigKey(
            "provider.severalTeams",
            \.providerSeveralTeams,
            .flag,
            "Off, as with APNs: a connection belongs to the team of its first token."
        ).live,
        ConfigKey(
            "provider.environmentKeyReason",
            \.providerEnvironmentKeyReason,
            .choice(),
            "wire answers BadEnvironmentKeyInToken as APNs does; documented BadEnvironmentKeyIdInToken as it says."
        ),
        ConfigKey(
            "provider.payload",
            \.providerPayload,
            .choice(),
            "json refuses what is not a JSON object; opaque checks only that it is there and not too large."
        ).live,
        ConfigKey(
            "provider.tokenRate",
            \.providerTokenRate,
            .count(0...1_000_000, zero: "no limit"),
            "Pushes per second and device token before 429 TooManyRequests."
        ).live,
        ConfigKey(
            "provider.idleTimeout",
            \.providerIdleTimeout,
            .duration(.seconds(1) ... .days(7)),
            "A silent provider connection is closed after this long; APNs asks providers to keep theirs open."
        ).live,
        ConfigKey(
            "provider.requestTimeout",
            \.providerRequestTimeout,
            .duration(.milliseconds(100) ... .seconds(600)),
            "Then a request is answered 503 ServiceUnavailable: never silence."
        ).live,
        ConfigKey(
            "device.idleTimeout",
            \.deviceIdleTimeout,
            .duration(.seconds(1) ... .days(7)),
            "A silent device is closed after this long, or after twice its announced keepalive if that is longer."
        ).live,
        ConfigKey(
            "device.proxy",
            \.deviceProxy,
            .flag,
            "The same for device.port: without it all devices behind a load balancer have its address, and its limits."
        ),
        ConfigKey(
            "device.tls.detach",
            \.deviceTLSDetach,
            .flag,
            "An idle TLS 1.3 session of a device takes 1 KB instead of 15. off leaves all TLS to OpenSSL."
        ).live,
        ConfigKey(
            "device.tls.resume",
            \.deviceTLSResume,
            .flag,
            "A ticket, good for \(Limits.ticketLife.milliseconds / 3_600_000) hours or until a reload, spares a device "
                + "that comes back the certificate: pays if that is RSA, or for weak devices. TLS 1.3 only: older "
                + "tickets could open recorded sessions."
        ).live,
        ConfigKey(
            "device.rsa",
            \.deviceRSA,
            .flag,
            "RSA keys, which sign with SHA-1 (form 01 01) as older devices do."
        ).live,
        ConfigKey(
            "device.minimumRSABits",
            \.deviceMinimumRSABits,
            .count(1024...16_384),
            "Shorter RSA keys can be broken."
        ).live,
    ]

    private static let limitKeys: [ConfigKey] = [
        ConfigKey(
            "drain.delay",
            \.drainDelay,
            .duration(.zero ... .seconds(600), zero: "at once"),
            "From failing /readyz to refusing connections: what a load balancer needs to notice."
        ).live,
        ConfigKey(
            "drain.timeout",
            \.drainTimeout,
            .duration(.milliseconds(100) ... .seconds(3600)),
            "What is unanswered then gets 503 Shutdown."
        ).live,
        ConfigKey(
            "limits.connections",
            \.limitsConnections,
            .count(0...10_000_000, zero: "what the open-file limit allows"),
            "Connections in all; one more is closed at once."
        ).live,
        ConfigKey(
            "limits.connectionsPerAddress",
            \.limitsConnectionsPerAddress,
            .count(0...10_000_000, zero: "no limit, for gateways behind a proxy"),
            "One address cannot use up the rest."
        ).live,
        ConfigKey(
            "limits.handshakes",
            \.limitsHandshakes,
            .count(1...10_000),
            "TLS handshakes at a time per event loop, of devices and of providers: each costs more than ten pushes, "
                + "and pushes go first."
        ).live,
        ConfigKey(
            "limits.failuresPerAddress",
            \.limitsFailuresPerAddress,
            .count(0...1_000_000, zero: "no address is dropped"),
            "Connections of one address that fail at one door within a minute (no TLS, bad proof, silence), while none "
                + "of it is in or was lately, before it is dropped there for a minute, but for a trial now and then. "
                + "Never for loopback."
        ).live,
    ]

    private static let logKeys: [ConfigKey] = [
        ConfigKey(
            "log.deliveries",
            automatic: \.logDeliveries,
            .choice(),
            "The delivery log. auto is all in development, off in production, where it would grow."
        ),
        ConfigKey(
            "log.keep",
            \.logKeep,
            .duration(.seconds(60) ... .days(3650)),
            "A row of the delivery log goes after this long."
        ),
        ConfigKey(
            "log.rows",
            \.logRows,
            .count(1...1_000_000_000),
            "Past this many rows the delivery log loses its oldest."
        ),
        ConfigKey("log.level", \.logLevel, .choice(), "The least severe line that is logged.").live,
        ConfigKey("log.format", automatic: \.logFormat, .choice(), "auto is text on a terminal, else JSON."),
    ]
}

/// A row of `Config.keys`: reading, printing, the commented file and the documentation all come from it.
package struct ConfigKey: Sendable {
    /// As it is written in the file: `provider.port`.
    package let name: String
    /// What a value must be, as in "must be on or off".
    package let expected: String
    /// The smallest and largest value as text; nil when the setting has no order.
    package let bounds: (minimum: String, maximum: String)?
    /// What 0 means; nil when it is refused, or not a number.
    package let zero: String?
    /// Why the setting is there and its default is what it is.
    package let reason: String
    /// Whether a reload takes a new value; if not, it waits for a restart.
    package private(set) var isLive = false
    /// Sets the field; false, and nothing changed, when the text is not a good value.
    let set: @Sendable (inout Config, String) -> Bool
    /// The field as it would be written in the file.
    package let shown: @Sendable (Config) -> String

    init<Value: Sendable>(
        _ name: String,
        _ field: any WritableKeyPath<Config, Value> & Sendable,
        _ kind: ConfigKind<Value>,
        _ reason: String
    ) {
        self.name = name
        self.reason = reason
        (expected, bounds, zero) = (kind.expected, kind.bounds, kind.zero)
        set = { config, text in
            guard let value = kind.parse(text) else { return false }
            config[keyPath: field] = value
            return true
        }
        shown = { kind.shown($0[keyPath: field]) }
    }

    /// A setting that may be `auto`: the field is nil then.
    init<Value: Sendable>(
        _ name: String,
        automatic field: any WritableKeyPath<Config, Value?> & Sendable,
        _ kind: ConfigKind<Value>,
        _ reason: String
    ) {
        self.init(name, field, kind.automatic, reason)
    }

    /// The same row for a setting that a reload takes.
    fileprivate var live: ConfigKey {
        var copy = self
        copy.isLive = true
        return copy
    }

    /// The default as it would be written in the file.
    package var defaultText: String { shown(Config()) }

    /// The variable that overrides the file: `provider.tokenUpdates` is `CARILLON_PROVIDER_TOKEN_UPDATES`.
    package var environmentName: String {
        let letters = Array(name)
        var result = "CARILLON_"
        for (index, letter) in letters.enumerated() {
            // A run of capitals (RSA) is one word, whose last capital starts the next.
            let startsWord =
                letter.isUppercase && index > 0 && letters[index - 1] != "."
                && (letters[index - 1].isLowercase || index + 1 < letters.count && letters[index + 1].isLowercase)
            if startsWord { result += "_" }
            result += letter == "." ? "_" : letter.uppercased()
        }
        return result
    }
}
