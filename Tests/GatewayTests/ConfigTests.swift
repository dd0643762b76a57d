import Gateway
import PushCore
import Testing

@Suite struct ConfigTests {
    @Test func `nothing set gives the defaults`() throws {
        #expect(try Config.load(fileText: "") == Config())
    }

    @Test func `overrides win over variables and variables over the file`() throws {
        let config = try Config.load(
            fileText: "queue.limit = 1\nqueue.mode = apple\nthreads = 7\n",
            environment: ["CARILLON_QUEUE_LIMIT": "2", "CARILLON_THREADS": "3", "HOME": "/root"],
            overrides: ["queue.limit=4"]
        )
        #expect(config.queueLimit == 4)
        #expect(config.threads == 3)
        #expect(config.queueMode == .apple)
    }

    @Test func `comments and blanks are ignored and the last line for a key counts`() throws {
        let text = "# a comment\n\n  threads=1 # so\nthreads = 2\ntls.key = a#b\r\n"
        let config = try Config.load(fileText: text)
        #expect(config.threads == 2)
        #expect(config.tlsKey == "a#b")
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `lines end as they do on any system`(_ end: String) throws {
        let text = ["# Settings", "queue.limit = 7", "threads = 2", ""].joined(separator: end)
        let loaded = try LoadedConfig(fileText: text, environment: [:], overrides: [])
        #expect(loaded.config.queueLimit == 7)
        #expect(loaded.source(of: "threads") == .file(line: 3))
    }

    @Test func `every mistake is named at once with its place and the nearest key`() {
        let error = #expect(throws: ConfigError.self) {
            try Config.load(
                fileText: "queue.limt = 7\n\nprovider.port = 70000\nnonsense\n",
                environment: ["CARILLON_PROVIDER_PROT": "1", "CARILLON_ADMIN_TOKEN": "x", "CARILLON_CONFIG": "y"],
                overrides: ["threads=many", "drain.timeuot=1s"]
            )
        }
        #expect(
            error?.lines(file: "carillon.conf") == [
                "carillon.conf:1: unknown setting queue.limt; did you mean queue.limit?",
                "carillon.conf:3: provider.port cannot be \"70000\"; it must be 1 to 8 ports from 0 to 65535, "
                    + "such as 443, 2197",
                "carillon.conf:4: expected key = value, found \"nonsense\"",
                "CARILLON_PROVIDER_PROT: unknown setting CARILLON_PROVIDER_PROT; did you mean CARILLON_PROVIDER_PORT?",
                "--set threads=many: threads cannot be \"many\"; it must be a whole number from 0 to 256",
                "--set drain.timeuot=1s: unknown setting drain.timeuot; did you mean drain.timeout?",
            ]
        )
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
    func `an admin listener on loopback needs no TLS`(_ host: String) throws {
        #expect(try Config.load(fileText: "admin.host = \(host)").adminHost == host)
    }

    @Test(arguments: ["*", "0.0.0.0", "10.0.0.1", "::", "push.example.com", "127.example.com"])
    func `an admin listener elsewhere needs TLS`(_ host: String) throws {
        let error = #expect(throws: ConfigError.self) { try Config.load(fileText: "threads = 1\nadmin.host = \(host)") }
        #expect(error?.problems.map(\.source) == [.file(line: 2)])
        #expect(try Config.load(fileText: "admin.host = \(host)\nadmin.tls = on").adminTLS)
    }

    @Test func `the channels port and the delivery log follow the environment`() throws {
        let development = try Config.load(fileText: "")
        let production = try Config.load(fileText: "environment = production")
        #expect(development.effectiveChannelsPort == 2195 && development.effectiveLogDeliveries == .all)
        #expect(production.effectiveChannelsPort == 2196 && production.effectiveLogDeliveries == .off)
        #expect(try Config.load(fileText: "channels.port = 0").effectiveChannelsPort == 0)
    }

    @Test func `printed settings name their source and are a settings file themselves`() throws {
        let loaded = try LoadedConfig(
            fileText: "\nqueue.limit = 7",
            environment: ["CARILLON_THREADS": "2"],
            overrides: ["provider.port = 443, 2197"]
        )
        let text = loaded.printed(file: "carillon.conf", cores: 4)
        let lines = text.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        #expect(lines.contains(["queue.limit", "=", "7", "#", "carillon.conf:2"]))
        #expect(lines.contains(["threads", "=", "2", "#", "CARILLON_THREADS"]))
        #expect(lines.contains(["queue.mode", "=", "queue", "#", "default"]))
        #expect(try Config.load(fileText: text) == loaded.config.resolved(cores: 4))
    }
}
