import Testing

@testable import Gateway

@Suite struct NumbersTests {
    @Test func `no two loops give the same number and none gives an old one`() {
        var given: Set<UInt64> = []
        for loop in 0..<3 {
            var numbers = Numbers(afterPush: 50, afterRegistration: 7, loop: loop, of: 3)
            for _ in 0..<100 { #expect(given.insert(numbers.nextPush()).inserted) }
        }
        #expect(given == Set(51...350))
    }

    @Test func `registrations are counted apart from pushes`() {
        var numbers = Numbers(afterPush: 50, afterRegistration: 7, loop: 1, of: 2)
        #expect([numbers.nextRegistration(), numbers.nextRegistration()] == [9, 11])
        #expect(numbers.nextPush() == 52)
    }

    @Test(arguments: [1, 2, 3, 4, 64])
    func `the low half of a number is never 0`(_ loops: Int) {
        for loop in 0..<loops {
            var numbers = Numbers(afterPush: 1 << 32 - 200, afterRegistration: 0, loop: loop, of: loops)
            var last: UInt64 = 0
            for _ in 0..<400 {
                let number = numbers.nextPush()
                #expect(UInt32(truncatingIfNeeded: number) != 0 && number > last)
                last = number
            }
        }
    }
}
