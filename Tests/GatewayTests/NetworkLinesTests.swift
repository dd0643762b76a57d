import Reactor
import Testing

@testable import Gateway

@Suite struct NetworkLinesTests {
    /// One whose answers may stand in an expectation.
    private final class Lines {
        private var lines = NetworkLines()
        var count: Int { lines.count }
        func add(_ tokens: ClosedRange<UInt64>, of network: PeerAddress) {
            for token in tokens { lines.add(token, of: network) }
        }
        func remove(_ token: UInt64) { lines.remove(token) }
        func next(by held: [PeerAddress: Int]) -> PeerAddress? { lines.next { held[$0] } }
        func takeFirst(of network: PeerAddress) -> UInt64? { lines.takeFirst(of: network) }
        func newest() -> UInt64? { lines.newest() }
        func tokens(of network: PeerAddress) -> Set<UInt64> { Set(lines.tokens(of: network)) }
    }

    private let networks = (1...3).map { PeerAddress([192, 0, 2, $0])! }

    @Test func `networks take turns, and each keeps its order`() {
        let lines = Lines()
        lines.add(1...3, of: networks[0])
        lines.add(4...5, of: networks[1])
        let none = [networks[0]: 0, networks[1]: 0]
        let taken = (0..<6).map { _ in lines.next(by: none).flatMap { lines.takeFirst(of: $0) } }
        #expect(taken == [1, 4, 2, 5, 3, nil] && lines.count == 0)
    }

    @Test func `it is the turn of who holds least and may hold more`() {
        let lines = Lines()
        for (index, network) in networks.enumerated() { lines.add(UInt64(index)...UInt64(index), of: network) }
        #expect(lines.next(by: [networks[0]: 2, networks[1]: 1, networks[2]: 1]) == networks[1])
        #expect(lines.next(by: [networks[0]: 2, networks[1]: 1, networks[2]: 0]) == networks[2])
        #expect(lines.next(by: [networks[0]: 2]) == networks[0] && lines.next(by: [:]) == nil)
    }

    @Test func `the newest is of who has most, if that is more than one`() {
        let lines = Lines()
        lines.add(1...3, of: networks[0])
        lines.add(4...5, of: networks[1])
        #expect(lines.newest() == 3)
        lines.remove(3)
        lines.remove(2)
        #expect(lines.newest() == 5)
        lines.remove(5)
        #expect(lines.newest() == nil)
        #expect(lines.tokens(of: networks[0]) == [1] && lines.tokens(of: networks[2]) == [])
    }
}
