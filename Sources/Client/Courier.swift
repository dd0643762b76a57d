import Reactor
package import TLS
package import Wire

/// Who a device is: its certificate, signed by the gateway's authority, and the key in it.
package struct CourierIdentity: Sendable {
    /// The certificate that enrolment gave.
    package let certificatePEM: [UInt8]
    /// Its private key. A secret.
    package let keyPEM: [UInt8]

    package init(certificatePEM: [UInt8], keyPEM: [UInt8]) {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
    }
}

/// Where a device connects and what it wants there.
package struct CourierConfiguration: Sendable {
    /// A name or an address of the gateway.
    package var host: String
    /// Its device port.
    package var port: UInt16
    /// The authorities that may have signed the gateway's certificate; nil verifies nothing, for tests alone.
    package var caPEM: [UInt8]?
    /// Who the device is.
    package var identity: CourierIdentity
    /// What it registers and enables, by name.
    package var topics: [String]
    /// Whether to offer Carillon's own form of the protocol; a gateway that lacks it answers in the plain one.
    package var extended: Bool
    /// Whether notifications are acknowledged; false leaves them with the gateway, for tests.
    package var acknowledges: Bool

    package init(
        host: String,
        port: UInt16,
        caPEM: [UInt8]?,
        identity: CourierIdentity,
        topics: [String],
        extended: Bool = true,
        acknowledges: Bool = true
    ) {
        self.host = host
        self.port = port
        self.caPEM = caPEM
        self.identity = identity
        self.topics = topics
        self.extended = extended
        self.acknowledges = acknowledges
    }
}

/// What a device lives through. Tokens are hexadecimal.
package enum CourierEvent: Equatable, Sendable {
    case connected(baseToken: String)
    /// The device token of a topic, after each connect: what an app hands to its provider.
    case token(topic: String, token: String)
    /// The gateway gives no token for a topic, most likely because it does not know it. It is asked again now and then.
    case refused(topic: String, reason: String)
    case notification(CourierNotification)
    /// The connection ended or could not be made; the next attempt is `retrySeconds` away.
    case disconnected(reason: String, retrySeconds: Double)
}

/// A notification as the device got it.
package struct CourierNotification: Equatable, Sendable {
    /// Hexadecimal.
    package var token: String
    /// The topic's name; its hash in hexadecimal if the gateway did not tell and the device did not ask for it.
    package var topic: String
    /// As the provider sent it, byte for byte.
    package var payload: [UInt8]
    /// What the acknowledgement names.
    package var messageID: UInt32
    /// Unix seconds.
    package var expiry: UInt32
    /// Unix nanoseconds.
    package var timestamp: UInt64
    /// 0 is live, 1 was stored, 3 is the last that was stored.
    package var storageFlags: UInt8
    /// 10, 5 or 1.
    package var priority: UInt8
    /// As the provider got it in `apns-unique-id`. This and what follows come in the extended form only.
    package var uniqueID: String?
    /// The collapse id, if the push has one.
    package var collapseID: String?
    /// The push type, if the provider named one.
    package var pushType: String?
}

/// Why a device's connection ended.
package enum CourierError: Error, Equatable, CustomStringConvertible {
    case system(String)
    case tls(TLSError)
    case wire(WireError)
    /// The gateway does not accept the device.
    case refused(reason: String, retrySeconds: UInt32?)
    /// The gateway said that it is about to close.
    case goodbye(reason: String, retrySeconds: UInt32?)
    case closed
    /// Nothing came although something was due.
    case silent
    /// The gateway takes no bytes.
    case stalled

    package var description: String {
        switch self {
        case .system(let reason): reason
        case .tls(let error): error.description
        case .wire(.frameTooLong(let length)): "the gateway announced a frame of \(length) bytes"
        case .wire(.malformed(let command)): "the gateway sent a malformed frame, command \(command)"
        case .refused(let reason, _): "the gateway refused the device: \(reason)"
        case .goodbye(let reason, _): "the gateway said goodbye: \(reason)"
        case .closed: "the gateway closed the connection"
        case .silent: "the gateway does not answer"
        case .stalled: "the gateway takes no more bytes"
        }
    }

    /// When the gateway wants to see the device again, if it said.
    var retrySeconds: UInt32? {
        switch self {
        case .refused(_, let seconds), .goodbye(_, let seconds): seconds
        case .system, .tls, .wire, .closed, .silent, .stalled: nil
        }
    }
}

/// Calls the system; its failure becomes this module's.
func system<Result: ~Copyable>(_ call: () throws(SystemError) -> Result) throws(CourierError) -> Result {
    do { return try call() } catch { throw .system(error.description) }
}

/// Calls TLS; its failure becomes this module's.
func secure<Result>(_ call: () throws(TLSError) -> Result) throws(CourierError) -> Result {
    do { return try call() } catch { throw .tls(error) }
}
