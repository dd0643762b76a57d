import HTTP2
import PushCore
import TLS

/// A provider's connection: HTTP/2 as far as pushes need it, with headers that are never compressed, so that the number
/// of bytes on the wire is the same in every run.
final class SimulatedProvider {
    /// A push as a provider words it.
    struct Request {
        let serial: Int
        let token: [UInt8]
        let topic: Int
        let headers: [(String, String)]
        let body: [UInt8]
    }

    /// What came for a request: its status, 0 when the stream was reset.
    struct Answer {
        let serial: Int
        let status: Int
        /// When its provider token was made.
        let signedAt: Moment
    }

    var link: Link?
    private(set) var isLeaving = false
    private(set) var open: [UInt32: (serial: Int, signedAt: Moment)] = [:]
    private var nextStream: UInt32 = 1
    private var hasGreeted = false
    private var isReady = false
    private var streamLimit = 1
    private var window = 65_535
    private var streamWindow = 65_535
    private var rest: [UInt8] = []
    private var statuses: [UInt32: Int] = [:]
    private var decoder: HeaderDecoder?
    private var authorization = ""
    private var signedAt = Moment(nanoseconds: 0)

    /// Begins anew with a connection, or without one.
    func use(_ link: Link?) throws(HTTP2Error) {
        self.link = link
        (isLeaving, open, nextStream, isReady, streamLimit) = (false, [:], 1, false, 1)
        (window, streamWindow, rest, statuses, signedAt) = (65_535, 65_535, [], [:], Moment(nanoseconds: 0))
        decoder = try HeaderDecoder()
        hasGreeted = false
    }

    /// Says the first words, once the handshake is done.
    func greet() {
        guard let link, link.isEstablished, !hasGreeted else { return }
        hasGreeted = true
        // A window that never fills.
        link.say(
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(FrameType.settings, 0, 0, [])
                + frame(FrameType.windowUpdate, 0, 0, [0x40, 0, 0, 0])
        )
    }

    func mayPush(bodyCount: Int) -> Bool {
        link != nil && isReady && !isLeaving && open.count < streamLimit && bodyCount <= min(window, streamWindow)
    }

    func push(_ request: Request, _ identity: Identity, at now: Moment) throws(TLSError) {
        if now - signedAt > .seconds(2400) {
            authorization = "bearer " + (try identity.providerToken(at: now))
            signedAt = now
        }
        let stream = nextStream
        nextStream += 2
        open[stream] = (request.serial, signedAt)
        window -= request.body.count
        let fields =
            [
                (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
                (":path", "/3/device/" + hexadecimal(request.token)),
                ("authorization", authorization), ("apns-topic", SimulatedTopics.names[request.topic]),
                ("apns-push-type", SimulatedTopics.types[request.topic]),
            ] + request.headers
        let block = fields.reduce(into: [UInt8]()) { $0 += [0] + literal($1.0) + literal($1.1) }
        link?.say(
            frame(FrameType.headers, FrameFlag.endHeaders, stream, block)
                + frame(FrameType.data, FrameFlag.endStream, stream, request.body)
        )
    }

    /// Takes what has come and returns the answers that are whole; nil when it is no HTTP/2.
    func receive(_ plain: [UInt8]) -> [Answer]? {
        rest += plain
        var (answers, start): ([Answer], Int) = ([], 0)
        while rest.count - start >= 9 {
            let count = Int(rest[start]) << 16 | Int(rest[start + 1]) << 8 | Int(rest[start + 2])
            guard rest.count - start >= 9 + count else { break }
            let stream = word(rest[(start + 5)...]) & 0x7fff_ffff
            let (type, flags) = (rest[start + 3], rest[start + 4])
            guard take(type, flags, stream, Array(rest[(start + 9)..<(start + 9 + count)])) else { return nil }
            let ends = type == FrameType.headers || type == FrameType.data ? flags & FrameFlag.endStream != 0 : false
            if ends || type == FrameType.reset, let request = open.removeValue(forKey: stream) {
                let status = type == FrameType.reset ? 0 : statuses[stream] ?? 0
                statuses[stream] = nil
                answers.append(Answer(serial: request.serial, status: status, signedAt: request.signedAt))
            }
            start += 9 + count
        }
        rest.removeFirst(start)
        return answers
    }

    private func take(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> Bool {
        switch type {
        case FrameType.headers:
            // A block that cannot be read leaves nothing to go on with.
            guard let status = try? decoder?.status(payload.span) else { return false }
            statuses[stream] = status
        case FrameType.settings where flags & FrameFlag.acknowledge == 0:
            for place in stride(from: 0, to: payload.count - 5, by: 6) {
                let value = Int(word(payload[(place + 2)...]))
                if payload[place + 1] == 3 { streamLimit = value }
                if payload[place + 1] == 4 { streamWindow = value }
            }
            isReady = true
            link?.say(frame(FrameType.settings, FrameFlag.acknowledge, 0, []))
        case FrameType.ping where flags & FrameFlag.acknowledge == 0:
            link?.say(frame(FrameType.ping, FrameFlag.acknowledge, 0, payload))
        case FrameType.windowUpdate where stream == 0: window += Int(word(payload[...]) & 0x7fff_ffff)
        case FrameType.goAway: isLeaving = true
        default: break
        }
        return true
    }
}

private func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
    let count = UInt32(payload.count)
    return [count >> 16, count >> 8, count].map { UInt8(truncatingIfNeeded: $0) } + [type, flags]
        + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: stream >> UInt32($0)) } + payload
}

/// A string of HPACK (RFC 7541 section 5.2) that is not compressed.
private func literal(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    if bytes.count < 127 { return [UInt8(bytes.count)] + bytes }
    var (length, left): ([UInt8], Int) = ([127], bytes.count - 127)
    while left >= 128 {
        length.append(UInt8(left & 127 | 128))
        left >>= 7
    }
    return length + [UInt8(left)] + bytes
}

private func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
