import PushCore
import Wire

/// Both directions of the device protocol: a stream means the same however it is cut, and what was read can be
/// written and read again. The first byte says how long the pieces are.
func fuzzWire(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let stream = Array(input.dropFirst())
    let cut = 1 + Int(first)

    let fromDevice = readAsServer(stream, cut: .max)
    precondition(fromDevice == readAsServer(stream, cut: cut), "a device's stream depends on how it is cut")
    var written: [UInt8] = []
    for message in fromDevice.messages { message.encode(into: &written) }
    precondition(readAsServer(written, cut: .max).messages == fromDevice.messages, "a device's message changed")

    let fromServer = readAsDevice(stream, cut: .max)
    precondition(fromServer == readAsDevice(stream, cut: cut), "a server's stream depends on how it is cut")
    written = []
    for message in fromServer.messages { message.encode(into: &written) }
    precondition(readAsDevice(written, cut: .max).messages == fromServer.messages, "a server's message changed")

    checkNonce(Array(stream.prefix(ConnectNonce.count)))
    for case .connect(let connect) in fromDevice.messages { checkNonce(connect.nonce ?? []) }
}

/// A nonce is its bytes again, unless its time is beyond all that can be counted; then it is as far ahead as can be.
private func checkNonce(_ bytes: [UInt8]) {
    guard let nonce = ConnectNonce(bytes) else { return precondition(bytes.count != 17 || bytes[0] != 0, "refused") }
    let isFar = nonce.made.milliseconds == Int64.max / 1_000_000
    precondition(isFar || nonce.bytes == bytes, "another nonce")
    precondition(nonce.made >= Moment(nanoseconds: 0), "before 1970")
}

/// The messages before the end or the first error, and that error.
private struct Outcome<Message: Equatable>: Equatable {
    var messages: [Message] = []
    var error: WireError?
}

private func readAsServer(_ stream: [UInt8], cut: Int) -> Outcome<DeviceMessage> {
    var decoder = FrameDecoder(frameLimit: 16_384)
    return read(stream, cut: cut) { (piece, outcome) throws(WireError) in
        decoder.append(piece.span)
        while let message = try decoder.next() { outcome.messages.append(message) }
    }
}

private func readAsDevice(_ stream: [UInt8], cut: Int) -> Outcome<ServerMessage> {
    var decoder = ServerFrameDecoder(frameLimit: 16_384)
    return read(stream, cut: cut) { (piece, outcome) throws(WireError) in
        decoder.append(piece.span)
        while let message = try decoder.next() { outcome.messages.append(message) }
    }
}

private func read<Message>(
    _ stream: [UInt8],
    cut: Int,
    _ take: ([UInt8], inout Outcome<Message>) throws(WireError) -> Void
) -> Outcome<Message> {
    var outcome = Outcome<Message>()
    var start = 0
    while start < stream.count {
        let end = min(stream.count, start + min(cut, stream.count))
        do {
            try take(Array(stream[start..<end]), &outcome)
        } catch {
            outcome.error = error
            return outcome
        }
        start = end
    }
    return outcome
}
