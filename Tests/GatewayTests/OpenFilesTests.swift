import PushCore
import Testing

@testable import Gateway

@Suite struct OpenFilesTests {
    private func config(connections: Int) -> Config {
        var config = Config()
        config.threads = 2
        config.limitsConnections = connections
        return config
    }

    private let log = Log(level: .error, format: .text, clock: { Moment(seconds: 0) }, write: { _ in true })

    @Test func `connections may be what the limit leaves, or as few as is set`() {
        let files = [0, 4, 10_000_000].map { OpenFiles(config(connections: $0), limit: 1024) }
        let left = 1024 - files[0].reserve
        #expect(files.map(\.connections) == [left, 4, left])
    }

    @Test func `too low a limit is refused with what is needed`() {
        for (set, wanted) in [(0, 16), (4, 4), (10_000_000, 16)] {
            let config = config(connections: set)
            let needed = OpenFiles(config, limit: 0).reserve + wanted
            #expect(throws: Never.self) { try OpenFiles(config, limit: needed).check(log) }
            let error = #expect(throws: StartError.self) {
                try OpenFiles(config, limit: needed - 1).check(log)
            }
            #expect(error?.description.contains("raise it to \(needed) or more") == true)
        }
    }

    @Test func `each thread and port takes some`() {
        var more = config(connections: 0)
        more.providerPorts = [443, 2197]
        more.threads = 3
        #expect(OpenFiles(more, limit: 0).reserve == OpenFiles(config(connections: 0), limit: 0).reserve + 8)
    }
}
