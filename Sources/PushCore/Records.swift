/// A bundle id that a team may push to.
package struct App: Equatable, Sendable {
    /// Its bundle id, which is also its first topic.
    package let bundle: String
    /// Whose it is.
    package let team: String
    /// Whether the app may use broadcast channels.
    package let broadcast: Bool

    package init(bundle: String, team: String, broadcast: Bool) {
        (self.bundle, self.team, self.broadcast) = (bundle, team, broadcast)
    }
}

/// A team's key for signing provider tokens; the gateway keeps only the public half.
package struct ProviderKey: Equatable, Sendable {
    /// Where a key is good (Establishing a token-based connection to APNs).
    package enum Scope: String, Sendable, CaseIterable {
        case development
        case production
        case all
    }

    /// What `kid` in a provider token names.
    package let keyID: String
    /// Whose it is.
    package let team: String
    /// Where it is good.
    package let environment: Scope
    /// The topics it may push to; empty means every topic of the team.
    package let topics: [String]
    /// The public key as SubjectPublicKeyInfo, DER.
    package let publicKey: [UInt8]
    /// When it was made.
    package let createdAt: Moment
    /// When it was revoked; nil while it is good.
    package var revokedAt: Moment?

    package init(
        keyID: String,
        team: String,
        environment: Scope,
        topics: [String],
        publicKey: [UInt8],
        createdAt: Moment,
        revokedAt: Moment?
    ) {
        self.keyID = keyID
        self.team = team
        self.environment = environment
        self.topics = topics
        self.publicKey = publicKey
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// The first eight bytes of SHA-256 of a device's public key (SubjectPublicKeyInfo): 16 hexadecimal digits outside.
package struct DeviceID: Hashable, Sendable, CustomStringConvertible {
    /// The eight bytes as a number.
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// The device to which a public key belongs, by the SHA-256 of its SubjectPublicKeyInfo.
    package init(keyDigest: [UInt8]) { value = keyDigest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    package init?(hex: String) {
        // The standard library would take a sign for a digit.
        guard hex.utf8.count == 16, hex.utf8.allSatisfy({ hexValue($0) != nil }), let value = UInt64(hex, radix: 16)
        else { return nil }
        self.value = value
    }

    package var description: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The two bytes that all tokens of the device start with: they name its home loop.
    package var bucket: UInt16 { UInt16(truncatingIfNeeded: value >> 48) }
}

/// A device that was enrolled: known by its public key.
package struct Device: Equatable, Sendable {
    /// What it signs its Connect with.
    package enum KeyType: String, Sendable, CaseIterable {
        case ec
        case rsa
    }

    /// What its public key makes it.
    package let id: DeviceID
    /// What the operator calls it.
    package let name: String
    /// What it signs with.
    package let keyType: KeyType
    /// What the device protocol calls the device by.
    package let baseToken: DeviceToken
    /// When its certificate ends.
    package let certificateNotAfter: Moment
    /// The number of the authority that signed its certificate; 0 if that was before it was written down.
    package let signer: UInt64
    /// When it was made.
    package let createdAt: Moment
    /// Set when an operator removed it; kept so that its certificate stays refused.
    package var removedAt: Moment?

    package init(
        id: DeviceID,
        name: String,
        keyType: KeyType,
        baseToken: DeviceToken,
        certificateNotAfter: Moment,
        signer: UInt64 = 0,
        createdAt: Moment,
        removedAt: Moment?
    ) {
        self.id = id
        self.name = name
        self.keyType = keyType
        self.signer = signer
        self.baseToken = baseToken
        self.certificateNotAfter = certificateNotAfter
        self.createdAt = createdAt
        self.removedAt = removedAt
    }
}

/// What joins a device and a topic; its token is what an app hands to its provider.
package struct Registration: Equatable, Sendable {
    /// Whether the token is good.
    package enum State: UInt8, Sendable {
        case active = 0
        /// The token answers 410 `Unregistered`.
        case unregistered = 1
        /// The token answers 410 `ExpiredToken`.
        case expired = 2
    }

    // Ordered so that it fits the next smaller size of the allocator: there is one per registration.
    /// Its number for good: what queued pushes and the delivery log refer to.
    package let number: UInt64
    /// The device token.
    package let token: DeviceToken
    /// The topic by name.
    package let topic: String
    /// When it was made.
    package let createdAt: Moment
    /// nil for one that was made without a device, for tests.
    package let device: DeviceID?
    /// Whether it is good, or why not.
    package var state: State
    /// When it stopped being active.
    package var revokedAt: Moment?

    package init(
        number: UInt64,
        token: DeviceToken,
        device: DeviceID?,
        topic: String,
        createdAt: Moment,
        state: State,
        revokedAt: Moment?
    ) {
        self.number = number
        self.token = token
        self.device = device
        self.topic = topic
        self.createdAt = createdAt
        self.state = state
        self.revokedAt = revokedAt
    }
}
