/// Why a byte stream is not the device protocol. Nothing can be read after it: the connection closes.
package enum WireError: Error, Equatable {
    /// The frame's head announces a body longer than the limit. Thrown before the body arrives.
    case frameTooLong(UInt32)
    /// The body of a known command cannot be what the command needs.
    case malformed(command: UInt8)
}

/// The body of a frame is wrong; the decoder adds which frame and throws `WireError.malformed`.
struct Malformed: Error {}
