import COpenSSL

/// Zeroes bytes that were secret, in a way that no optimizer leaves out. Only the last owner's array can be zeroed: of
/// one that somebody else holds too, this would zero a copy.
package func cleanse(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
}
