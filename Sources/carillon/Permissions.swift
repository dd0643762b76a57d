import Glibc

/// Who may reach what must be private. By mode and owner, so the answer is the same for root, who may read everything.
enum Permissions {
    /// One line for each secret that is open to others, with what to type; empty when all is well.
    static func problems(of paths: [String], user: uid_t = geteuid()) -> [String] {
        paths.compactMap { path in Files.access(of: path).flatMap { problem(path, $0, user: user) } }
    }

    /// A secret may belong to the user or to root. Root too must not trust a key that somebody else can change.
    static func problem(_ path: String, _ access: FileAccess, user: uid_t) -> String? {
        if let repair = access.repair(path) { return "\(path) is open to group or others; type: \(repair)" }
        if access.owner != user && access.owner != 0 {
            return "\(path) belongs to another user; type: chown \(user) \(path)"
        }
        return nil
    }
}
