import Gateway
import PushCore
import TLS

/// The files of an instance that hold what admits to its admin API. They alone say what is good: the running gateway
/// reads them for each request, so that a new token counts, and an old one is void, as soon as its file is replaced.
struct AdminTokenFiles: Sendable {
    private let tokenPath: String
    private let readOnlyPath: String

    init(_ instance: Instance) {
        tokenPath = instance.adminTokenPath
        readOnlyPath = instance.readOnlyTokenPath
    }

    /// A new token.
    static func makeToken() -> String { hexadecimal(SecureRandom.bytes(32)) }

    /// What a file holds for a token.
    static func text(_ token: String) -> [UInt8] { Array("\(token)\n".utf8) }

    /// What admits now. A file that is missing, cannot be read or holds no secret admits nobody.
    @Sendable func read() -> AdminTokens { AdminTokens(full: digest(tokenPath), readOnly: digest(readOnlyPath)) }

    /// Throws if a file that is there holds no secret.
    func check() throws(CommandError) {
        for (path, command) in [(tokenPath, "rotate-token"), (readOnlyPath, "create-readonly-token --replace")]
        where Files.exists(path) && digest(path) == nil {
            let message = "\(path) is too short to be a secret; type: carillon admin \(command)"
            throw .failed(code: "admin_token", message: message)
        }
    }

    private func digest(_ path: String) -> SecretDigest? {
        // Why it cannot be read is told at the start; later nobody is admitted, which says enough.
        guard var bytes = try? Files.read(path, limit: 4096) else { return nil }
        defer { cleanse(&bytes) }
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || (9...13).contains($0) }
        let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
        let end = (bytes.lastIndex { !isBlank($0) } ?? start - 1) + 1
        guard end - start >= Limits.adminTokenMinimum else { return nil }
        return SecretDigest(of: bytes.span.extracting(start..<end))
    }
}
