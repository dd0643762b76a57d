import COpenSSL
import TLSRecord

/// A TLS 1.3 session that has let go of OpenSSL: a few hundred bytes instead of 14 KB. It belongs to one thread.
package final class DetachedSession {
    private var records: RecordSession
    private let transport: TLSTransport

    fileprivate init(records: consuming RecordSession, transport: TLSTransport) {
        self.records = records
        self.transport = transport
    }

    /// Whether the peer has said that it sends no more (close_notify).
    package var isPeerClosed: Bool { records.isPeerClosed }

    /// Takes all of `ciphertext` and returns how many bytes of plaintext now lie in the transport.
    ///
    /// When this throws, the alert for the peer is in `transport.outgoing`.
    package func receive(_ ciphertext: Span<UInt8>) throws(TLSError) -> Int {
        do throws(RecordError) {
            return try records.receive(ciphertext, into: &transport.plaintext)
        } catch {
            records.fail(error, into: &transport.outgoing)
            throw error.inTLS
        }
    }

    /// Encrypts `plaintext` into `transport.outgoing`, in records as large as TLS allows.
    package func send(_ plaintext: Span<UInt8>) throws(TLSError) {
        do throws(RecordError) {
            try records.send(plaintext, into: &transport.outgoing)
        } catch {
            throw error.inTLS
        }
    }

    /// Says that no more will be sent (close_notify).
    package func shutdown() { records.close(into: &transport.outgoing) }
}

extension TLSSession {
    /// Moves the keys of an established TLS 1.3 session out of OpenSSL. This object is of no use after.
    ///
    /// Nil while OpenSSL holds part of a record or message: ask again after more was received. Always nil for other
    /// versions, for listeners that do not detach, and for a peer that has updated its keys too often.
    package func detach() -> DetachedSession? {
        let number = SSL_get_current_cipher(raw).map { SSL_CIPHER_get_protocol_id($0) }
        guard isSettled, let suite = number.flatMap({ CipherSuite(rawValue: $0) }), let watch = TrafficWatch.of(raw),
            let reading = keys(suite, watch.reading), let writing = keys(suite, watch.writing)
        else { return nil }
        let records = RecordSession(
            opener: RecordOpener(keys: reading, ciphers: transport.ciphers),
            sealer: RecordSealer(keys: writing, ciphers: transport.ciphers)
        )
        abandon()
        return DetachedSession(records: records, transport: transport)
    }

    /// Whether OpenSSL has nothing half read, nothing to answer, and expects nothing but data.
    private var isSettled: Bool {
        // Between a record's header and its body OpenSSL says that it has nothing.
        let isBehindHeader = strcmp(SSL_rstate_string(raw), "RB") == 0
        return isEstablished && !hasFailed && !isGone && SSL_version(raw) == TLS1_3_VERSION
            && SSL_get_shutdown(raw) == 0 && SSL_is_init_finished(raw) == 1 && SSL_has_pending(raw) == 0
            && SSL_get_key_update_type(raw) == SSL_KEY_UPDATE_NONE && !isBehindHeader
    }

    /// Gives up OpenSSL's side without a word to the peer.
    private func abandon() {
        isGone = true
        // Else OpenSSL takes it for an accident, after which a session may not be resumed.
        SSL_set_quiet_shutdown(raw, 1)
        SSL_shutdown(raw)
    }
}

/// More KeyUpdates than an honest peer sends before it has said anything: each costs a few hashes to repeat.
private let generationLimit = 32

/// One direction's keys as they stand in OpenSSL; nil if they cannot be told.
private func keys(_ suite: CipherSuite, _ direction: borrowing TrafficWatch.Direction) -> TrafficKeys? {
    guard !direction.isInsideMessage, direction.generation <= generationLimit else { return nil }
    return direction.keys(suite)
}

extension RecordError {
    fileprivate var inTLS: TLSError {
        switch self {
        case .broken(let alert): .protocolError("the peer broke the record protocol (alert \(alert.rawValue) sent)")
        case .refused(let alert): .protocolError("the peer gave up with alert \(alert.rawValue)")
        case .closed: .closed
        }
    }
}
