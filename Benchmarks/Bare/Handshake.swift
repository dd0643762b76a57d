import COpenSSL
import Reactor

/// One connection: a handshake, one byte, and then nothing until the client leaves.
final class Handshake {
    private let socket: FileDescriptor
    private let session: OpaquePointer
    private var isDone = false

    /// nil when OpenSSL has no memory for it.
    init?(_ socket: consuming FileDescriptor, _ context: HandshakeContext) {
        guard let session = SSL_new(context.raw) else { return nil }
        self.socket = socket
        self.session = session
        SSL_set_fd(session, self.socket.number)
        // One read for each flight of the client, instead of one for a record's head and one for its body.
        SSL_set_read_ahead(session, 1)
        SSL_set_accept_state(session)
    }

    // The session first: its BIO knows the number of the socket.
    deinit { SSL_free(session) }

    /// Goes on as far as it can; false when the connection is over.
    func advance() -> Bool {
        ERR_clear_error()
        guard isDone else {
            let result = SSL_do_handshake(session)
            guard result == 1 else { return SSL_get_error(session, result) == SSL_ERROR_WANT_READ }
            isDone = true
            return SSL_write(session, "!", 1) == 1
        }
        var byte: UInt8 = 0
        let result = SSL_read(session, &byte, 1)
        return result > 0 || SSL_get_error(session, result) == SSL_ERROR_WANT_READ
    }
}
