import Gateway
import JSON
import TLS

/// Which key a push is signed with: what the command line says, else what the instance holds.
enum ProviderKeyChoice {
    /// The signer that `--key`, `--key-id` and `--team` name; each that is missing comes from the instance.
    static func signer(_ invocation: Invocation, _ instance: Instance?) throws(CommandError) -> ProviderToken {
        let path = if let path = invocation.value("key") { path } else { try onlyKey(of: instance) }
        guard let keyID = invocation.value("key-id") ?? keyID(ofFile: path) else {
            throw .usage("\(path) is not named AuthKey_<KEYID>.p8; say --key-id K")
        }
        let pem = try Files.read(path)
        let key: PrivateKey
        do throws(TLSError) {
            key = try PrivateKey(pem: pem)
        } catch {
            throw .failed(code: "bad_key", message: "\(path) holds no private key: \(error)")
        }
        let team = if let team = invocation.value("team") { team } else { try team(ofKey: keyID, instance) }
        return ProviderToken(keyID: keyID, team: team, key: key)
    }

    /// The id in a file name such as `AuthKey_ABC123DEFG.p8`; nil for any other name.
    static func keyID(ofFile path: String) -> String? {
        let name = Files.split(path).name
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
        let id = String(name.dropFirst("AuthKey_".count).dropLast(".p8".count))
        return KeyID.isValid(id) ? id : nil
    }

    private static func onlyKey(of instance: Instance?) throws(CommandError) -> String {
        guard let instance else { throw .usage("say --key F, or --config FILE of an instance that has a key") }
        let paths = instance.providerKeyPaths
        if paths.count == 1 { return paths[0] }
        guard !paths.isEmpty else { throw .usage("no key in \(instance.keysDirectory); say --key F") }
        throw .usage("several keys; say --key F, one of: \(paths.joined(separator: ", "))")
    }

    /// The team a key signs for: the demo's from what `init` wrote, another's from the gateway.
    private static func team(ofKey keyID: String, _ instance: Instance?) throws(CommandError) -> String {
        guard let instance else { throw .usage("say --team T, the team that signs with key \(keyID)") }
        if let team = seededTeam(ofKey: keyID, instance) { return team }
        for key in try AdminGateway(instance).items("/v1/keys") where key["keyID"]?.string == keyID {
            if let team = key["team"]?.string { return team }
        }
        throw .usage("the gateway does not know key \(keyID); say --team T")
    }

    private static func seededTeam(ofKey keyID: String, _ instance: Instance) -> String? {
        // Without the file, or with one that was edited, the gateway is asked.
        guard let bytes = try? Files.read(instance.seedPath), let seed = try? JSONValue(parsing: bytes.span) else {
            return nil
        }
        return seed["keys"]?.array?.first { $0["keyID"]?.string == keyID }?["team"]?.string
    }
}
