import Gateway
import JSON
import PushCore
import TLS

/// An app, and a key on this machine that may push to it.
struct PushTarget {
    let topic: String
    let signer: ProviderToken

    /// The first of the gateway's apps, the demo's before all, that a key of the instance may push to; nil if there is
    /// none.
    init?(apps: [JSONValue], keys: [JSONValue], _ instance: Instance) {
        let environment = instance.config.environment.rawValue
        let demoFirst = apps.filter { $0["bundle"]?.string == "com.example.demo" } + apps
        for app in demoFirst {
            guard let bundle = app["bundle"]?.string, let team = app["team"]?.string else { continue }
            let good = keys.filter { $0["team"]?.string == team && Self.may($0, pushTo: bundle, in: environment) }
            let ids = good.compactMap { $0["keyID"]?.string }
            guard let (id, key) = Self.keyFile(among: ids, instance) else { continue }
            topic = bundle
            signer = ProviderToken(keyID: id, team: team, key: key)
            return
        }
        return nil
    }

    /// Whether the key, as the gateway shows it, is good there for the topic.
    static func may(_ key: JSONValue, pushTo topic: String, in environment: String) -> Bool {
        let topics = key["topics"]?.array?.compactMap(\.string) ?? []
        return (key["revokedAt"]?.isNull ?? true) && ["all", environment].contains(key["environment"]?.string)
            && (topics.isEmpty || topics.contains(topic))
    }

    private static func keyFile(among ids: [String], _ instance: Instance) -> (id: String, key: PrivateKey)? {
        for path in instance.providerKeyPaths {
            // A file that cannot be read is no key to try with; the permission check names it.
            guard let id = ProviderKeyChoice.keyID(ofFile: path), ids.contains(id),
                let pem = try? Files.read(path), let key = try? PrivateKey(pem: pem)
            else { continue }
            return (id, key)
        }
        return nil
    }
}
