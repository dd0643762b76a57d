import PushCore
import TLS
import Wire

/// One topic an app has: its bundle id alone, or with a known suffix. Made once per catalog and shared by all loops.
final class Topic: Sendable {
    let name: String
    let bytes: [UInt8]
    let hash: TopicHash
    let bundle: String
    let team: String
    /// What follows the bundle id; nil for the bundle id alone.
    let suffix: String?
    /// The same for all topics of one app.
    let appNumber: Int

    init(app: App, suffix: String?) {
        name = app.bundle + (suffix ?? "")
        bytes = Array(name.utf8)
        hash = topicHash(name)
        bundle = app.bundle
        team = app.team
        self.suffix = suffix
        appNumber = app.bundle.hashValue
    }
}

/// A provider key with its public half parsed.
final class KnownKey: Sendable {
    let record: ProviderKey
    let publicKey: PublicKey
    let topics: Set<String>

    init?(_ record: ProviderKey) {
        // A key that does not parse was refused when it was added; one in a damaged store is left out.
        guard let key = try? PublicKey(spki: record.publicKey) else { return nil }
        self.record = record
        publicKey = key
        topics = Set(record.topics)
    }
}

/// Apps, their topics and the provider keys: an immutable value that every loop holds a copy of.
final class Catalog: Sendable {
    /// Grows with each change, so that a cached judgement can tell that it is old.
    let version: Int
    let apps: [String: App]
    let keys: [String: KnownKey]
    let topicsByName: [String: Topic]
    let topicsByHash: [TopicHash: Topic]

    init(version: Int, apps: [App], keys: [ProviderKey]) {
        self.version = version
        self.apps = Dictionary(apps.map { ($0.bundle, $0) }) { _, last in last }
        self.keys = Dictionary(keys.compactMap(KnownKey.init).map { ($0.record.keyID, $0) }) { _, last in last }
        var topics: [Topic] = []
        for app in apps {
            for suffix in Self.suffixes(of: app) { topics.append(Topic(app: app, suffix: suffix)) }
        }
        topicsByName = Dictionary(topics.map { ($0.name, $0) }) { first, _ in first }
        topicsByHash = Dictionary(topics.map { ($0.hash, $0) }) { first, _ in first }
    }

    /// The endings of an app's topics. Device management, Wallet and web ids are apps of exactly that topic.
    static func suffixes(of app: App) -> [String?] {
        let exact = ["com.apple.mgmt.", "pass.", "web."]
        if exact.contains(where: app.bundle.hasPrefix) { return [nil] }
        return [nil] + PushType.topicSuffixes
    }
}

/// SHA-1 of a topic's name: what stands for it on the device wire (docs/device-protocol.md).
func topicHash(_ name: String) -> TopicHash {
    let bytes = Array(name.utf8)
    guard let hash = TopicHash(Digest.sha1(bytes.span)) else { preconditionFailure("a SHA-1 digest has 20 bytes") }
    return hash
}
