import HTTP2
import Reactor
import TLS

/// One connection of a load's provider.
final class ProviderLink {
    /// Bytes that wait for the kernel, past which no request is added: more would only wait longer.
    private static let unsentLimit = 1 << 20

    private let link: SecureLink
    private var conversation: ProviderConversation
    /// What goes out with the next flush.
    private var output: [UInt8] = []
    private var isWatchingWrites = false

    /// Connects, which blocks, and begins the handshake. At most `limit` requests will be open at a time.
    init(to destination: Destination, limit: Int, context: TLSContext, transport: TLSTransport) throws(LoadError) {
        conversation = try ProviderConversation(limit: limit)
        link = try linked { () throws(CourierError) in
            try SecureLink(to: destination, context: context, transport: transport)
        }
    }

    var number: Int32 { link.number }
    var isReady: Bool { conversation.isReady }
    var tableSize: Int { conversation.tableSize }

    /// Reads once and appends the answers that are complete.
    func serve(
        using buffer: inout [UInt8],
        answers: inout [ProviderConversation.Answer]
    ) throws(LoadError) {
        let plaintext = try linked { () throws(CourierError) in try link.receive(using: &buffer) }
        guard !link.isEstablished || link.alpn == "h2" else {
            throw .protocolBroken("the server does not speak HTTP/2")
        }
        try conversation.receive(plaintext.span, answers: &answers)
        if link.hasEnded { throw .protocolBroken("the server closed a provider's connection") }
    }

    func mayOpen(bodyCount: Int) -> Bool {
        conversation.mayOpen(bodyCount: bodyCount) && link.unsentCount <= Self.unsentLimit
    }

    func refuses(bodyCount: Int) -> Bool { conversation.refuses(bodyCount: bodyCount) }

    /// Adds a request to what the next flush sends.
    func open(_ number: Int, planned: Int64, _ requests: ProviderRequests) {
        let isFirst = !conversation.isPrimed
        let stream = conversation.open(number, planned: planned, bodyCount: requests.bodyCount)
        requests.append(number, stream: stream, isFirst: isFirst, to: &output)
    }

    /// Sends all that was added, with one TLS write, and has `poller` watch for room if the kernel does not take it.
    func flush(_ poller: borrowing Poller, token: UInt64) throws(LoadError) {
        guard link.isEstablished else { return }
        if !conversation.output.isEmpty {
            // Before requests: acknowledgements are not to wait behind a megabyte.
            output.insert(contentsOf: conversation.output, at: 0)
            conversation.output.removeAll(keepingCapacity: true)
        }
        do {
            if !output.isEmpty { try link.send(output) } else if link.unsentCount > 0 { try link.flush() }
        } catch {
            throw .connection(error)
        }
        output.removeAll(keepingCapacity: true)
        let isWaiting = link.unsentCount > 0
        guard isWaiting != isWatchingWrites else { return }
        isWatchingWrites = isWaiting
        try systemLoad { () throws(SystemError) in
            try poller.change(link.number, token: token, for: isWaiting ? [.read, .write] : .read)
        }
    }

    /// Takes leave of the server.
    func close() { link.close() }
}
