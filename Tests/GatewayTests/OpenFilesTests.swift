import Testing

@testable import Gateway

@Suite struct OpenFilesTests {
    private func config(connections: Int) -> Config {
        var config = Config()
        config.threads = 2
        config.limitsConnections = connections
        return config
    }

    @Test func `connections may be what the limit leaves, or what is set`() {
        let files = OpenFiles(config(connections: 0), limit: 1024)
        #expect(files.connections(config(connections: 0)) == 1024 - files.reserve)
        #expect(files.connections(config(connections: 4)) == 4)
    }

    @Test func `too low a limit is refused with what is needed`() {
        let all = config(connections: 500)
        let needed = OpenFiles(all, limit: 0).reserve + 500
        #expect(throws: Never.self) { try OpenFiles(all, limit: needed).check(all) }
        let error = #expect(throws: StartError.self) { try OpenFiles(all, limit: needed - 1).check(all) }
        #expect(error?.description.contains("raise it to \(needed) or more") == true)
        #expect(throws: StartError.self) {
            try OpenFiles(config(connections: 0), limit: 100).check(config(connections: 0))
        }
    }

    @Test func `each thread and port takes some`() {
        var more = config(connections: 0)
        more.providerPorts = [443, 2197]
        more.threads = 3
        #expect(OpenFiles(more, limit: 0).reserve == OpenFiles(config(connections: 0), limit: 0).reserve + 8)
    }
}
