package import PushCore
import Reactor
import TLS
import Wire

/// The time as a gateway sees it: the wall clock, moved by the test clock.
package final class GatewayClock: Sendable {
    private let offset = AtomicCell()

    package init() {}

    package func now() -> Moment { Moment(nanoseconds: Clock.wall() &+ Int64(offset.value)) }

    /// Moves the clock forward, for tests.
    package func advance(by interval: Interval) { offset.add(Int(interval.nanoseconds)) }
}

/// The TLS contexts of the two doors; a reload makes new ones for new connections.
struct TLSContexts: Sendable {
    let provider: TLSContext
    let device: TLSContext

    init(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        provider = try TLSContext.server(
            certificateChainPEM: certificatePEM,
            keyPEM: keyPEM,
            options: TLSServerOptions(alpn: ["h2"], asksForClientCertificate: true, clientCAPEM: nil, tickets: 2)
        )
        device = try TLSContext.server(
            certificateChainPEM: certificatePEM,
            keyPEM: keyPEM,
            options: TLSServerOptions(
                alpn: [DeviceProtocol.extended, DeviceProtocol.plain],
                asksForClientCertificate: false,
                clientCAPEM: nil,
                tickets: 0
            )
        )
    }
}

/// What a loop begins with: made on the thread that starts the gateway, owned by the loop's.
struct LoopStart {
    let home: Home
    let catalog: Catalog
    let contexts: TLSContexts
    let listeners: [LoopListener]
}

/// The body of each refusal, made once.
struct AnswerBodies {
    private let bodies: [Rejection: [UInt8]]

    init() {
        bodies = Dictionary(uniqueKeysWithValues: Rejection.allCases.map { ($0, $0.body()) })
    }

    subscript(rejection: Rejection) -> [UInt8] { bodies[rejection] ?? rejection.body() }
}

/// Ids that must differ but need not be secret. SplitMix64, seeded once: asking the system for each push is a call.
struct RandomIDs {
    private var state: UInt64

    init() {
        var generator = SystemRandomNumberGenerator()
        state = generator.next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }

    /// Sixteen bytes.
    mutating func uniqueID() -> [UInt8] {
        let words = (next(), next())
        return [UInt8](capacity: 16) { output in
            for word in [words.0, words.1] {
                for shift in stride(from: UInt64(0), to: 64, by: 8) {
                    output.append(UInt8(truncatingIfNeeded: word >> shift))
                }
            }
        }
    }

    /// An `apns-id` of our own: uppercase, as the service makes them.
    mutating func messageID() -> [UInt8] { uuidText(uniqueID(), uppercase: true) }
}

/// 8-4-4-4-12 hexadecimal digits of sixteen bytes.
func uuidText(_ bytes: [UInt8], uppercase: Bool = false) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    appendUUID(bytes, to: &text, uppercase: uppercase)
    return text
}

/// The same into an array that is used again.
func appendUUID(_ bytes: [UInt8], to text: inout [UInt8], uppercase: Bool = false) {
    // What a letter's code lies beyond that of the digit 9.
    let gap = uppercase ? UInt8(ascii: "A") - UInt8(ascii: "9") - 1 : UInt8(ascii: "a") - UInt8(ascii: "9") - 1
    text.append(addingCapacity: 36) { output in
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 { output.append(UInt8(ascii: "-")) }
            let (high, low) = (bytes[index] >> 4, bytes[index] & 15)
            output.append(UInt8(ascii: "0") + high + (high > 9 ? gap : 0))
            output.append(UInt8(ascii: "0") + low + (low > 9 ? gap : 0))
        }
    }
}

/// The test hook that answers the next pushes with a reason of the tester's choice.
package final class AnswerHook: Sendable {
    private let planned = Locked<(rejection: Rejection, times: Int)?>(nil)
    private let isSet = AtomicCell()

    package init() {}

    package func plan(_ rejection: Rejection, times: Int) {
        planned.withLock { $0 = times > 0 ? (rejection, times) : nil }
        isSet.set(times > 0 ? 1 : 0)
    }

    func next() -> Rejection? {
        guard isSet.value == 1 else { return nil }
        return planned.withLock { plan -> Rejection? in
            guard let current = plan else { return nil }
            plan = current.times > 1 ? (current.rejection, current.times - 1) : nil
            return current.rejection
        }
    }
}

extension Config {
    var queuePolicy: QueuePolicy {
        var policy = QueuePolicy()
        policy.mode = queueMode == .apple ? .apple : .queue
        policy.limit = queueLimit
        policy.backlog = deliveryBacklog
        policy.window = deliveryWindow
        policy.acknowledgementTimeout = deliveryAckTimeout
        policy.lowPriorityDelay = deliveryLowPriorityDelay
        return policy
    }
}
