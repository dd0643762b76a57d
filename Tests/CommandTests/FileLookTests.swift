import Testing

@testable import carillon

@Suite struct FileLookTests {
    private func mark(_ number: UInt64) -> FileMark { FileMark(file: [1, number, 10], times: [1, 2, 3, 4]) }

    @Test func `a change counts once it stands still`() {
        var look = FileLook([])
        #expect(!look.hasChanged(to: [mark(1), mark(2)]))
        #expect(look.hasChanged(to: [mark(1), mark(2)]))
        #expect(!look.hasChanged(to: [mark(1), mark(2)]))
    }

    @Test func `a change that goes on is waited for`() {
        var look = FileLook([])
        for number in 1..<5 as Range<UInt64> { #expect(!look.hasChanged(to: [mark(number)])) }
        #expect(look.hasChanged(to: [mark(4)]))
    }

    @Test func `a file that goes and one that comes are changes`() {
        var look = FileLook([])
        _ = look.hasChanged(to: [mark(1)])
        #expect(look.hasChanged(to: [mark(1)]))
        #expect(!look.hasChanged(to: [nil]))
        #expect(look.hasChanged(to: [nil]))
        #expect(!look.hasChanged(to: [mark(1)]))
        #expect(look.hasChanged(to: [mark(1)]))
    }

    @Test func `what comes back as it was is no change`() {
        var look = FileLook([])
        #expect(!look.hasChanged(to: [mark(1)]))
        #expect(!look.hasChanged(to: []))
        #expect(!look.hasChanged(to: []))
    }
}
