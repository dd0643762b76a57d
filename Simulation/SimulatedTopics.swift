import PushCore
import TLS
import Wire

/// The topics that devices register for: two apps, and a second topic of the first.
enum SimulatedTopics {
    static let bundles = ["com.example.one", "com.example.two"]
    static let names = ["com.example.one", "com.example.two", "com.example.one.voip"]
    static let types = ["alert", "alert", "voip"]
    static let hashes: [TopicHash] = names.map { name in
        let bytes = Array(name.utf8)
        guard let hash = TopicHash(Digest.sha1(bytes.span)) else { preconditionFailure("SHA-1 has 20 bytes") }
        return hash
    }
}
