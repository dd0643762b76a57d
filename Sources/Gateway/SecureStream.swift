import PushCore
import Reactor
import TLS

/// The buffers of one loop, shared by all its connections: what a turn reads and writes passes through them.
final class LoopBuffers {
    /// What a read from a socket fills.
    var ciphertext = [UInt8](repeating: 0, count: 64 * 1024)
    let transport = TLSTransport()
    /// Plain bytes a connection is about to send; empty between two connections.
    var plain: [UInt8] = []
    /// Room for what a device has said; empty between two connections.
    var commands: [UInt8] = []
    /// Empty lists with room in them, for sessions that have something to say this turn.
    private var spare: [[OutgoingNotification]] = []

    func borrow() -> [OutgoingNotification] { spare.popLast() ?? [] }

    func giveBack(_ buffer: inout [OutgoingNotification]) {
        buffer.removeAll(keepingCapacity: true)
        if spare.count < Limits.spareBuffers, buffer.capacity > 0 { spare.append(buffer) }
        buffer = []
    }
}

/// One socket with TLS on it. It keeps what the socket did not take, and knows how to end with FIN.
final class SecureStream {
    /// What a read brought.
    enum Reading {
        /// This many plain bytes lie in the transport's buffer; more may wait in the socket if `mayContinue`.
        case plain(Int, mayContinue: Bool)
        case wouldBlock
        case ended
    }

    /// Who encrypts.
    private enum Cipher {
        /// Nobody yet: the peer has said nothing.
        case none
        case openSSL(TLSSession)
        /// The session's keys without OpenSSL's session, which is what most sessions of devices are most of the time.
        case detached(DetachedSession)
    }

    private(set) var descriptor: FileDescriptor
    /// OpenSSL is to be left as soon as it can be.
    private var isDetaching = false
    /// We said that we will send nothing more.
    private(set) var isEnding = false
    private var cipher: Cipher
    private let buffers: LoopBuffers
    /// Ciphertext the socket did not take yet.
    private var unsent: [UInt8] = []
    /// Bytes that the loop's buffer holds and that were not decrypted, between `readFirst` and the next `read`.
    private var firstCount = 0

    init(_ descriptor: consuming FileDescriptor, tls: TLSSession, buffers: LoopBuffers, unsent: [UInt8] = []) {
        self.descriptor = descriptor
        cipher = .openSSL(tls)
        self.buffers = buffers
        self.unsent = unsent
    }

    /// A socket whose peer has said nothing: TLS begins with `begin`.
    init(_ descriptor: consuming FileDescriptor, buffers: LoopBuffers) {
        self.descriptor = descriptor
        cipher = .none
        self.buffers = buffers
    }

    /// Reads what the peer says first into the loop's buffer, before there is TLS. Returns how many bytes came, 0 at
    /// the end; nil when it has said nothing.
    func readFirst() throws(SystemError) -> Int? {
        guard let count = try descriptor.read(into: &buffers.ciphertext) else { return nil }
        firstCount = count
        return count
    }

    /// Reads at most `count` bytes, before there is TLS, and leaves the rest in the socket.
    func readClear(_ count: Int) throws(SystemError) -> ArraySlice<UInt8>? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard let count = try descriptor.read(into: &bytes) else { return nil }
        return bytes[..<count]
    }

    /// Begins TLS. What `readFirst` brought is the first that `read` decrypts: it must come before any other's turn.
    func begin(_ session: TLSSession) { cipher = .openSSL(session) }

    /// OpenSSL's session, which answers what the handshake settled, until it is detached.
    var tls: TLSSession {
        guard case .openSSL(let session) = cipher else { preconditionFailure("the session is detached") }
        return session
    }

    /// Takes the connection apart, for another loop. This stream must not be used again.
    func park() -> (descriptor: Int32, tls: ParkedTLSSession, unsent: [UInt8]) {
        (descriptor.duplicate(), tls.park(), unsent)
    }

    /// Leaves OpenSSL, at once or as soon as it holds no part of a record, if this session can. One that stays lets go
    /// of its handshake.
    func detach() {
        isDetaching = true
        tryToDetach()
        if case .openSSL(let session) = cipher { session.forgetHandshake() }
    }

    private func tryToDetach() {
        guard isDetaching, case .openSSL(let session) = cipher, let detached = session.detach() else { return }
        cipher = .detached(detached)
        isDetaching = false
    }

    /// Gives back what only a busy connection needs.
    func releaseBuffers() {
        if case .openSSL(let session) = cipher { session.releaseBuffers() }
    }

    var unsentCount: Int { unsent.count }

    var isEstablished: Bool {
        switch cipher {
        case .none: false
        case .openSSL(let session): session.isEstablished
        case .detached: true
        }
    }

    private var isPeerClosed: Bool {
        switch cipher {
        case .none: false
        case .openSSL(let session): session.isPeerClosed
        case .detached(let session): session.isPeerClosed
        }
    }

    /// Reads once. Throws when the peer broke TLS or the connection.
    func read() throws(StreamFailure) -> Reading {
        if isPeerClosed { return .ended }
        do throws(SystemError) {
            if firstCount > 0 {
                defer { firstCount = 0 }
                return try decrypt(firstCount)
            }
            guard let count = try descriptor.read(into: &buffers.ciphertext) else { return .wouldBlock }
            if count == 0 { return .ended }
            return try decrypt(count)
        } catch {
            throw .system(error)
        }
    }

    private func decrypt(_ count: Int) throws(SystemError) -> Reading {
        let isFull = count == buffers.ciphertext.count
        var plain = 0
        var failed = false
        do throws(TLSError) {
            let ciphertext = buffers.ciphertext
            plain = try receive(ciphertext.span.extracting(0..<count))
        } catch {
            failed = true
        }
        // Handshake flights and alerts leave before another connection uses the shared buffer.
        if !buffers.transport.outgoing.isEmpty { try push() }
        if failed { return .ended }
        if plain == 0, isPeerClosed { return .ended }
        tryToDetach()
        // The next read tells the end that came with these bytes.
        return .plain(plain, mayContinue: isFull || isPeerClosed)
    }

    private func receive(_ ciphertext: Span<UInt8>) throws(TLSError) -> Int {
        switch cipher {
        case .none: throw .notEstablished
        case .openSSL(let session): try session.receive(ciphertext)
        case .detached(let session): try session.receive(ciphertext)
        }
    }

    private func encrypt(_ plaintext: Span<UInt8>) throws(TLSError) {
        switch cipher {
        case .none: throw .notEstablished
        case .openSSL(let session): try session.send(plaintext)
        case .detached(let session): try session.send(plaintext)
        }
    }

    /// Encrypts and writes `buffers.plain`, and empties it.
    func sendPlain() throws(StreamFailure) {
        defer { buffers.plain.removeAll(keepingCapacity: true) }
        guard !buffers.plain.isEmpty, !isEnding else { return }
        do throws(TLSError) {
            let plain = buffers.plain
            try encrypt(plain.span)
        } catch {
            throw .tls(error)
        }
        do throws(SystemError) { try push() } catch { throw .system(error) }
    }

    /// Writes what the socket did not take before.
    func flush() throws(StreamFailure) {
        guard !unsent.isEmpty else { return }
        do throws(SystemError) {
            let waiting = unsent
            let count = try descriptor.send(waiting.span)
            unsent = Array(waiting[count...])
            // A sleeping session owns no buffer.
            if unsent.isEmpty { unsent = [] }
        } catch {
            throw .system(error)
        }
        if unsent.isEmpty, isEnding { descriptor.endWriting() }
    }

    /// Says goodbye in TLS and TCP: what was sent before still arrives, because FIN comes after it.
    func end() {
        guard !isEnding else { return }
        isEnding = true
        switch cipher {
        case .none: break
        case .openSSL(let session): session.shutdown()
        case .detached(let session): session.shutdown()
        }
        do throws(SystemError) {
            try push()
            if unsent.isEmpty { descriptor.endWriting() }
        } catch {
            // The peer is gone already: closing is all that is left, and the owner does it.
        }
    }

    private func push() throws(SystemError) {
        defer { buffers.transport.outgoing.removeAll(keepingCapacity: true) }
        guard unsent.isEmpty else {
            unsent.append(contentsOf: buffers.transport.outgoing)
            return
        }
        let count = try sendOutgoing()
        if count < buffers.transport.outgoing.count { unsent = Array(buffers.transport.outgoing[count...]) }
    }

    /// A function of its own, so that the array is unique again, and keeps its room, when it is emptied.
    private func sendOutgoing() throws(SystemError) -> Int {
        let outgoing = buffers.transport.outgoing
        return try descriptor.send(outgoing.span)
    }
}

/// Why a connection cannot go on.
enum StreamFailure: Error {
    case system(SystemError)
    case tls(TLSError)
}
