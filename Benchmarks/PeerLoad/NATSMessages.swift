/// Messages as a NATS publisher writes them: a line for each subscriber, made beforehand, and the payload behind it.
struct NATSMessages {
    private let lines: [[UInt8]]
    private let payload: Payload

    /// `reply` is the subject to which the server confirms; empty if it does not.
    init(_ part: Part, reply: String = "") {
        let behind = reply.isEmpty ? "" : " \(reply)"
        let subscribers = part.role == .publisher ? part.load.subscribers : 0
        lines = (0..<subscribers).map { Array("PUB \(Self.subject($0))\(behind) \(part.payload.count)\r\n".utf8) }
        payload = part.payload
    }

    /// Encodes message `number` for the subscriber with that index.
    func append(_ number: Int, for subscriber: Int, to output: inout [UInt8]) {
        output.append(contentsOf: lines[subscriber])
        payload.append(number, to: &output)
        output.append(UInt8(ascii: "\r"))
        output.append(UInt8(ascii: "\n"))
    }

    /// Where a subscriber's messages go.
    static func subject(_ subscriber: Int) -> String { "load.\(subscriber)" }
}
