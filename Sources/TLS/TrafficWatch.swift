import COpenSSL
import TLSRecord

/// Follows one session's traffic keys while OpenSSL has them: their secrets, and how many records each protected.
///
/// OpenSSL has no call that hands them out, but tells them in two callbacks, which only listeners that detach set.
/// Nothing of it is ever written anywhere.
///
/// To tell a secret OpenSSL prints it, byte for byte, which costs 45,000 instructions. A handshake has five, and two of
/// them matter, each soon after a Finished. So the context asks for them from a Finished until its secret has come.
final class TrafficWatch {
    /// One direction's keys since the end of its handshake.
    struct Direction: ~Copyable {
        /// The application's first secret.
        fileprivate(set) var secret: TrafficSecret?
        /// How many KeyUpdates there were.
        fileprivate(set) var generation = 0
        /// How many records the current keys have protected.
        fileprivate(set) var sequence: UInt64 = 0
        /// Part of a handshake message has come in a record of its own.
        fileprivate(set) var isInsideMessage = false

        fileprivate init() {}

        /// The keys as they stand now; nil without a secret of the suite.
        func keys(_ suite: CipherSuite) -> TrafficKeys? {
            switch secret {
            case .none: return nil
            case .some(let secret):
                guard secret.count == suite.secretCount else { return nil }
                var keys = TrafficKeys(suite: suite, secret: secret)
                for _ in 0..<generation { keys.update() }
                keys.skip(to: sequence)
                return keys
            }
        }

        fileprivate mutating func recordPassed(_ type: UInt8) {
            sequence += 1
            isInsideMessage = type == UInt8(SSL3_RT_HANDSHAKE)
        }

        fileprivate mutating func messagePassed(_ type: UInt8) {
            isInsideMessage = false
            switch Int32(type) {
            case SSL3_MT_FINISHED: sequence = 0
            case SSL3_MT_KEY_UPDATE:
                sequence = 0
                generation += 1
            default: break
            }
        }
    }

    fileprivate(set) var reading = Direction()
    fileprivate(set) var writing = Direction()

    /// Where a session keeps its watch, which OpenSSL releases with the session.
    private static let place = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil) { _, watch, _, _, _, _ in
        guard let watch else { return }
        Unmanaged<TrafficWatch>.fromOpaque(watch).release()
    }

    /// Lets every session of the context be followed, once it has a watch. Only one loop may use the context.
    static func setCallback(of context: OpaquePointer) { SSL_CTX_set_msg_callback(context, passed) }

    /// Asks for the secrets of a session, and of all others of its context.
    fileprivate static func ask(for session: OpaquePointer?) {
        SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(session), keyLogged)
    }

    /// Asks no more.
    fileprivate static func stopAsking(for session: OpaquePointer?) {
        SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(session), nil)
    }

    /// Gives a new session its watch.
    static func begin(_ session: OpaquePointer) throws(TLSError) {
        let watch = Unmanaged.passRetained(TrafficWatch())
        do throws(TLSError) {
            try attempt(TLSError.library) { SSL_set_ex_data(session, place, watch.toOpaque()) }
        } catch {
            watch.release()
            throw error
        }
    }

    /// The watch of a session; nil if its listener does not detach.
    static func of(_ session: OpaquePointer?) -> TrafficWatch? {
        guard let session, let watch = SSL_get_ex_data(session, place) else { return nil }
        return Unmanaged<TrafficWatch>.fromOpaque(watch).takeUnretainedValue()
    }
}

/// One line of a key log: what the secret is, the client's random number, the secret.
private func keyLogged(session: OpaquePointer?, line: UnsafePointer<CChar>?) {
    guard let line, let watch = TrafficWatch.of(session) else { return }
    let text = UnsafeRawBufferPointer(start: line, count: strlen(line)).bindMemory(to: UInt8.self)
    guard let space = text.lastIndex(of: UInt8(ascii: " ")) else { return }
    let digits = UnsafeBufferPointer(rebasing: text[(space + 1)...]).span
    if text.starts(with: "CLIENT_TRAFFIC_SECRET_0 ".utf8) {
        watch.reading.secret = TrafficSecret(hexadecimal: digits)
    } else if text.starts(with: "SERVER_TRAFFIC_SECRET_0 ".utf8) {
        watch.writing.secret = TrafficSecret(hexadecimal: digits)
    } else {
        return
    }
    TrafficWatch.stopAsking(for: session)
}

/// An encrypted record, or a whole handshake message, has come or gone.
private func passed(
    isSent: Int32,
    version: Int32,
    kind: Int32,
    bytes: UnsafeRawPointer?,
    count: Int,
    session: OpaquePointer?,
    _: UnsafeMutableRawPointer?
) {
    guard let bytes, count > 0, let watch = TrafficWatch.of(session) else { return }
    let type = bytes.load(as: UInt8.self)
    // A session of TLS 1.2 has no such secrets, and would never stop asking.
    if kind == SSL3_RT_HANDSHAKE, type == UInt8(SSL3_MT_FINISHED), version == TLS1_3_VERSION {
        TrafficWatch.ask(for: session)
    }
    switch (kind, isSent) {
    case (SSL3_RT_INNER_CONTENT_TYPE, 0): watch.reading.recordPassed(type)
    case (SSL3_RT_INNER_CONTENT_TYPE, _): watch.writing.recordPassed(type)
    case (SSL3_RT_HANDSHAKE, 0): watch.reading.messagePassed(type)
    case (SSL3_RT_HANDSHAKE, _): watch.writing.messagePassed(type)
    default: break
    }
}
