import JSON
import Reactor
import TLS

/// What a provider proves its team with: a JSON Web Token, signed with ES256 (RFC 7515, RFC 7518 section 3.4).
struct ProviderToken {
    let keyID: String
    let team: String
    let key: PrivateKey

    /// A token made now.
    func signed() throws(TLSError) -> String { try signed(at: Clock.wall() / 1_000_000_000) }

    /// A token made at `seconds` after 1970.
    func signed(at seconds: Int64) throws(TLSError) -> String {
        let header = encoded([("alg", .string("ES256")), ("kid", .string(keyID))])
        let claims = encoded([("iss", .string(team)), ("iat", .integer(seconds))])
        let message = Array("\(header).\(claims)".utf8)
        let signature = try key.signES256(message.span)
        return "\(header).\(claims).\(base64URL(signature))"
    }

    private func encoded(_ members: [(String, JSONValue)]) -> String { base64URL(JSONValue.object(members).encoded) }
}

/// Base64 in the letters of URLs, without padding (RFC 4648 section 5).
func base64URL(_ bytes: [UInt8]) -> String { base64Text(bytes, lastLetters: "-_") }

/// Base64 with padding (RFC 4648 section 4).
func base64(_ bytes: [UInt8]) -> String {
    let text = base64Text(bytes, lastLetters: "+/")
    return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
}

private func base64Text(_ bytes: [UInt8], lastLetters: String) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastLetters)".utf8)
    var result: [UInt8] = []
    for start in Swift.stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for place in 0...group.count { result.append(letters[bits >> (18 - 6 * place) & 63]) }
    }
    return String(decoding: result, as: UTF8.self)
}
