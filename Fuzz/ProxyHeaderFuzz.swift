import Reactor

/// What comes before TLS from a load balancer, or from who is none: it means the same however it is cut, no byte behind
/// it is taken, and a header that is written from an address gives that address. The first byte says how long the
/// pieces are.
func fuzzProxyHeader(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let stream = Array(input.dropFirst())
    let whole = outcome(of: stream, cut: .max)
    precondition(whole == outcome(of: stream, cut: 1 + Int(first)), "the cut changes the result")
    if let count = whole.count {
        precondition((16...2048).contains(count) && count <= stream.count, "longer than what came, or than a header")
        let alone = outcome(of: Array(stream.prefix(count)), cut: .max)
        precondition(alone == whole, "what follows the header changes it")
    }

    for (family, size) in [(UInt8(0x11), 4), (0x21, 16)] where stream.count >= size {
        let extensions = stream.dropFirst(size).prefix(1000)
        let addresses = Array(stream.prefix(size)) + [UInt8](repeating: 7, count: size + 4) + extensions
        let length = [UInt8(addresses.count >> 8), UInt8(addresses.count & 255)]
        let header = signature + [0x21, family] + length + addresses
        let read = outcome(of: header + stream, cut: 1 + Int(first))
        precondition(read.count == header.count && read.error == nil, "a good header was refused")
        precondition(read.source == PeerAddress(Array(stream.prefix(size))), "another address")
    }
}

private let signature = Array("\r\n\r\n\0\r\nQUIT\n".utf8)

private struct Outcome: Equatable {
    /// Bytes of the header; nil as long as there is none.
    var count: Int?
    var source: PeerAddress?
    var error: ProxyHeaderError?
}

private func outcome(of stream: [UInt8], cut: Int) -> Outcome {
    var decoder = ProxyHeaderDecoder()
    var rest = stream[...]
    do throws(ProxyHeaderError) {
        while !rest.isEmpty {
            let piece = rest.prefix(min(cut, decoder.wanted))
            rest = rest.dropFirst(piece.count)
            if let header = try decoder.append(piece) {
                return Outcome(count: stream.count - rest.count, source: header.source)
            }
        }
        return Outcome()
    } catch {
        return Outcome(error: error)
    }
}
