import Testing

@testable import HTTP2

@Suite struct HTTP2MemoryTests {
    private let memory = HTTP2Memory()

    @Test(arguments: [0, 1, 63, 64, 65, 2048, 2049, 100_000])
    func `a block holds what was asked for and comes back for the same size`(_ size: Int) {
        let block = memory.take(size)!
        block.initializeMemory(as: UInt8.self, repeating: 0xaa, count: size)
        let other = memory.take(size)!
        other.initializeMemory(as: UInt8.self, repeating: 0xbb, count: size)
        let bytes = UnsafeRawBufferPointer(start: block, count: size)
        #expect(bytes.allSatisfy { $0 == 0xaa })
        memory.giveBack(block)
        let again = memory.take(size)!
        if size <= 2048 { #expect(again == block, "the block that came back last is used first") }
        memory.giveBack(again)
        memory.giveBack(other)
    }

    @Test func `a block that is used again is zeroed if that is asked for`() {
        let block = memory.take(100)!
        block.initializeMemory(as: UInt8.self, repeating: 0xff, count: 100)
        memory.giveBack(block)
        let zeroed = memory.takeZeroed(10, 10)!
        #expect(zeroed == block && UnsafeRawBufferPointer(start: zeroed, count: 100).allSatisfy { $0 == 0 })
        memory.giveBack(zeroed)
        #expect(memory.takeZeroed(.max, 2) == nil, "more than there is")
    }

    @Test(arguments: [(10, 60), (60, 65), (64, 5000), (3000, 9000)])
    func `a block that grows keeps its bytes`(_ before: Int, _ after: Int) {
        let block = memory.take(before)!
        for index in 0..<before { block.storeBytes(of: UInt8(index & 255), toByteOffset: index, as: UInt8.self) }
        let larger = memory.change(block, to: after)!
        #expect((0..<before).allSatisfy { larger.load(fromByteOffset: $0, as: UInt8.self) == UInt8($0 & 255) })
        memory.giveBack(larger)
        memory.giveBack(memory.change(nil, to: after))
        memory.giveBack(nil)
    }

    @Test func `no more waits than may`() {
        let memory = HTTP2Memory(keepingAtMost: 1000)
        let blocks = (0..<20).map { _ in memory.take(100)! }
        for block in blocks { memory.giveBack(block) }
        // Eight of 128 bytes wait; the ninth is a new one, or the system's allocator would have to give the same again.
        let again = (0..<8).map { _ in memory.take(100)! }
        #expect(again == blocks[..<8].reversed())
        for block in again { memory.giveBack(block) }
    }
}
