import Gateway

/// An instance on this machine: its settings, and where its files lie.
struct Instance: Sendable {
    /// The settings file as it was named: a link may lead elsewhere one day.
    let namedPath: String
    /// The settings file, from the root and with links followed: the service's is a link into its folder.
    let configPath: String
    let loaded: LoadedConfig
    /// The variables of the process. Read once: a gateway that guards its memory may not read them again.
    let variables: [String: String]

    /// The folders that each instance has beside its settings.
    static let folders = ["pki", "keys", "data"]

    var config: Config { loaded.config }
    var directory: String { Files.split(configPath).directory }

    /// Reads the settings at `path`; throws every mistake in them at once.
    init(configPath path: String, overrides: [String] = []) throws(CommandError) {
        try self.init(configPath: path, overrides: overrides, variables: Surroundings.variables())
    }

    /// The same with variables that are known.
    init(configPath path: String, overrides: [String], variables: [String: String]) throws(CommandError) {
        self.variables = variables
        namedPath = path
        configPath = Files.absolute(path)
        let text = try Files.readText(configPath)
        do throws(ConfigError) {
            loaded = try LoadedConfig(fileText: text, environment: variables, overrides: overrides)
        } catch {
            throw .failed(code: "config", message: error.lines(file: path).joined(separator: "\n"))
        }
    }

    /// The instance that the command line or its surroundings name; nil when they name none.
    static func find(_ invocation: Invocation, overrides: [String] = []) throws(CommandError) -> Instance? {
        if let path = try path(invocation) { return try Instance(configPath: path, overrides: overrides) }
        return nil
    }

    /// The instance that the command line or its surroundings name.
    static func require(_ invocation: Invocation, overrides: [String] = []) throws(CommandError) -> Instance {
        if let instance = try find(invocation, overrides: overrides) { return instance }
        throw .failed(
            code: "no_config",
            message: "no \(defaultPaths.joined(separator: " and no ")); say --config FILE, "
                + "or make an instance with carillon init"
        )
    }

    private static let defaultPaths = ["./carillon.conf", "/etc/carillon/carillon.conf"]

    private static func path(_ invocation: Invocation) throws(CommandError) -> String? {
        if let path = invocation.value("config") { return path }
        if let path = try Surroundings.variables()["CARILLON_CONFIG"] { return path }
        return defaultPaths.first(where: Files.exists)
    }

    /// A path of the settings as seen from here.
    func path(_ setting: String) -> String { Files.join(directory, setting) }

    var certificatePath: String { path(config.tlsCertificate) }
    var keyPath: String { path(config.tlsKey) }
    var authorityPath: String { path(config.tlsCA) }

    /// Beside the authority's certificate, with `.key` for its ending.
    var authorityKeyPath: String {
        let path = authorityPath
        return (path.hasSuffix(".pem") ? String(path.dropLast(4)) : path) + ".key"
    }

    var adminTokenPath: String { path("admin.token") }
    /// There only once `carillon admin create-readonly-token` has made it.
    var readOnlyTokenPath: String { path("admin.readonly.token") }
    var keysDirectory: String { path("keys") }

    /// The database file; nil for a store in memory.
    var storePath: String? {
        switch config.store {
        case .memory: nil
        case .sqlite(let name): path(name)
        }
    }

    /// Where the database and what belongs to it lies.
    var dataDirectory: String { storePath.map { Files.split($0).directory } ?? path("data") }
    /// The delivery log is a file of its own, so that it never slows a commit of the queue.
    var deliveryLogPath: String? { storePath == nil ? nil : Files.join(dataDirectory, "deliveries.db") }
    /// What `init` made for the first start.
    var seedPath: String { Files.join(dataDirectory, "seed.json") }

    /// The demo and created keys: `AuthKey_<KEYID>.p8`.
    var providerKeyPaths: [String] {
        Files.names(in: keysDirectory).filter { $0.hasSuffix(".p8") }.map { Files.join(keysDirectory, $0) }
    }

    /// What a running gateway looks at to see whether it must reload.
    var reloadedPaths: [String] { [namedPath, certificatePath, keyPath, authorityPath, authorityKeyPath] }

    /// What must be private, of what is there.
    var secretPaths: [String] {
        let data = Files.names(in: dataDirectory).map { Files.join(dataDirectory, $0) }
        // Who may write to a folder may put another key in the place of the one that is checked.
        let folders = [path("pki"), keysDirectory, dataDirectory]
        let files = [keyPath, authorityKeyPath, adminTokenPath, readOnlyTokenPath] + data + providerKeyPaths
        return (folders + files).filter(Files.exists)
    }

    /// The admin token, without the end of its line.
    func adminToken() throws(CommandError) -> String { trimmed(try Files.readText(adminTokenPath)) }
}
