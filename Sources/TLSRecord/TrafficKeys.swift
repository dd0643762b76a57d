import COpenSSL

/// What one direction of a session is protected with (RFC 8446, 7.2 and 7.3), and how many records were.
///
/// Secret, key, IV and the nonce at hand lie in one block that never moves and is zeroed at its end.
package struct TrafficKeys: ~Copyable {
    package let suite: CipherSuite
    /// The number of the next record under these keys.
    package private(set) var sequence: UInt64
    private let block: UnsafeMutablePointer<UInt8>

    private var iv: UnsafeMutablePointer<UInt8> { key + suite.keyCount }
    private var nonce: UnsafeMutablePointer<UInt8> { iv + CipherSuite.nonceCount }
    var key: UnsafeMutablePointer<UInt8> { block + suite.secretCount }

    /// The keys that `secret` stands for.
    package init(suite: CipherSuite, secret: borrowing TrafficSecret) {
        precondition(secret.count == suite.secretCount, "a secret of another suite")
        self.suite = suite
        sequence = 0
        block = .allocate(capacity: suite.blockCount)
        block.initialize(repeating: 0, count: suite.blockCount)
        block.update(from: secret.start, count: secret.count)
        derive()
    }

    deinit {
        OPENSSL_cleanse(block, suite.blockCount)
        block.deallocate()
    }

    /// Goes on to the next generation of keys, as a KeyUpdate demands; the old ones are gone.
    package mutating func update() {
        expand("traffic upd", into: block, count: suite.secretCount)
        derive()
        sequence = 0
    }

    /// Leaves out the numbers below `sequence`, because somebody else has used them.
    package mutating func skip(to sequence: UInt64) {
        precondition(sequence >= self.sequence, "a nonce would be used twice")
        self.sequence = sequence
    }

    /// The nonce of the next record, which is thereby used. It stays where it is until the next call.
    mutating func takeNonce() -> UnsafePointer<UInt8> {
        // The property itself, changed in place, is more than the compiler can check for races.
        let nonce = nonce
        nonce.update(from: iv, count: CipherSuite.nonceCount)
        for index in 0..<8 { nonce[11 - index] ^= UInt8(truncatingIfNeeded: sequence >> (8 * UInt64(index))) }
        // Overflow traps: a nonce is never used twice.
        sequence += 1
        return UnsafePointer(nonce)
    }

    private func derive() {
        expand("key", into: key, count: suite.keyCount)
        expand("iv", into: iv, count: CipherSuite.nonceCount)
    }

    /// HKDF-Expand-Label with no context (RFC 8446, 7.1). Never more than one hash is wanted: one HMAC is all of it.
    private func expand(_ label: String, into target: UnsafeMutablePointer<UInt8>, count: Int) {
        precondition(count <= suite.secretCount, "more than one hash")
        let name = Array("tls13 \(label)".utf8)
        let info = [0, UInt8(count), UInt8(name.count)] + name + [0, 1]
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(EVP_MAX_MD_SIZE)) { output in
            let start = output.baseAddress!
            let made = HMAC(suite.hash, block, Int32(suite.secretCount), info, info.count, start, nil)
            precondition(made != nil, "OpenSSL cannot hash")
            target.update(from: start, count: count)
            OPENSSL_cleanse(start, output.count)
        }
    }
}

extension CipherSuite {
    /// Secret, key, IV and nonce: a session has two such blocks, so they are no longer than the suite needs.
    fileprivate var blockCount: Int { secretCount + keyCount + 2 * Self.nonceCount }
}
