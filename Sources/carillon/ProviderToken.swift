import JSON
import PushCore
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
        return "\(header).\(claims).\(base64URLEncoded(signature))"
    }

    private func encoded(_ members: [(String, JSONValue)]) -> String {
        base64URLEncoded(JSONValue.object(members).encoded)
    }
}
