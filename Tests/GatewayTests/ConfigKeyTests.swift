import Gateway
import PushCore
import Testing

@Suite struct ConfigKeyTests {
    @Test(arguments: Config.keys.map(\.name))
    func `a default is a good value of its setting`(_ name: String) throws {
        let key = try #require(Config.key(named: name))
        #expect(try Config.load(fileText: "\(name) = \(key.defaultText)") == Config())
        #expect(!key.reason.isEmpty)
    }

    @Test(arguments: Config.keys.filter { $0.bounds != nil }.map(\.name))
    func `both bounds are good and 0 is good if and only if its meaning is said`(_ name: String) throws {
        let key = try #require(Config.key(named: name))
        let bounds = try #require(key.bounds)
        for text in [bounds.minimum, bounds.maximum] {
            let config = try Config.load(fileText: "\(name) = \(text)")
            #expect(key.shown(config) == text)
        }
        let zeroIsGood = (try? Config.load(fileText: "\(name) = 0")) != nil  // A throw is the answer here.
        #expect(zeroIsGood == (key.zero != nil))
    }

    @Test(arguments: Config.keys.map(\.name), ["", "-1", "no such value here", "1e9", "99999999999999999999d"])
    func `nonsense is refused and named`(_ name: String, _ text: String) throws {
        let free = ["tls.certificate", "tls.key", "tls.ca"].contains(name) || name.hasSuffix(".host")
        guard !free || text.isEmpty else { return }
        let error = #expect(throws: ConfigError.self) { try Config.load(fileText: "\(name) = \(text)") }
        #expect(error?.problems.first?.message.contains("\(name) cannot be \"\(text)\"") == true)
    }

    @Test(arguments: [
        ("provider.tokenUpdates", "CARILLON_PROVIDER_TOKEN_UPDATES"), ("store", "CARILLON_STORE"),
        ("device.minimumRSABits", "CARILLON_DEVICE_MINIMUM_RSA_BITS"), ("admin.tls", "CARILLON_ADMIN_TLS"),
    ])
    func `a setting's variable is its name in capitals`(_ name: String, _ variable: String) {
        #expect(Config.key(named: name)?.environmentName == variable)
    }

    @Test(arguments: ["250ms", "30s", "60s", "90s", "5m", "2h", "30d", "0s"])
    func `a duration survives being printed`(_ text: String) {
        #expect(Interval(setting: text)?.setting == text)
    }

    @Test(arguments: ["", "5", "s", "1.5s", "-1s", "1w", "1 s", "9223372036854775807d", "٣s"])
    func `what is not a duration is refused`(_ text: String) {
        #expect(Interval(setting: text) == nil)
    }

    @Test func `the new instance's file sets what was given and comments the rest`() throws {
        let text = Config.fileText(values: ["provider.port": "9443"])
        var expected = Config()
        expected.providerPorts = [9443]
        #expect(try Config.load(fileText: text) == expected)
        for key in Config.keys where key.name != "provider.port" {
            #expect(text.contains("\n# \(key.name) = \(key.defaultText)\n"))
        }
    }

    @Test func `the nearest name takes the fewest edits`() {
        #expect(editDistance("kitten", "sitting") == 3)
        #expect(editDistance("prot", "port") == 1)
        #expect(nearest(to: "queue.limt", in: ["queue.mode", "queue.limit"]) == "queue.limit")
    }
}
