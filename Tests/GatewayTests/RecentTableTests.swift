import Testing

@testable import Gateway

@Suite struct RecentTableTests {
    @Test func `the last half of what it may hold is remembered, and no more than all of it`() {
        var table = RecentTable<Int, Int>(limit: 100)
        for key in 0..<1000 {
            table[key] = key
            #expect(table.count <= 100)
        }
        #expect((950..<1000).allSatisfy { table[$0] == $0 } && table[0] == nil)
    }

    @Test func `what is set again stays, and what is removed is gone`() {
        var table = RecentTable<Int, Int>(limit: 4)
        for key in 0..<100 {
            table[key] = key
            table[-1] = key
        }
        #expect(table[-1] == 99)
        table[-1] = nil
        #expect(table[-1] == nil)
    }
}
