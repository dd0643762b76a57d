import Gateway
import Testing

@Suite struct ConfigReloadTests {
    @Test func `a reload takes what it can and names what waits`() throws {
        let old = try Config.load(fileText: "drain.timeout = 10s\nthreads = 2")
        let new = try Config.load(
            fileText: "drain.timeout = 20s\nthreads = 4\nprovider.port = 9443\ntls.ca = other.pem"
        )
        let (config, waiting) = old.reloaded(with: new)
        #expect(waiting == ["provider.port", "threads"])
        #expect(config == (try Config.load(fileText: "drain.timeout = 20s\nthreads = 2\ntls.ca = other.pem")))
    }

    @Test func `a setting that is taken away goes back to its default`() throws {
        let old = try Config.load(fileText: "provider.tokenRate = 5\nlog.level = debug")
        let (config, waiting) = old.reloaded(with: Config())
        #expect(config == Config() && waiting.isEmpty)
    }

    @Test func `the same settings change nothing`() throws {
        let config = try Config.load(fileText: "log.deliveries = off\nprovider.port = 443, 2197")
        let (same, waiting) = config.reloaded(with: config)
        #expect(same == config && waiting.isEmpty)
    }
}
