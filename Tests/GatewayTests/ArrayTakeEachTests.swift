import Testing

@testable import Gateway

@Suite struct ArrayTakeEachTests {
    @Test(arguments: [0, 1, 2, 3, 10])
    func `elements are given away in order, and the room stays`(_ count: Int) {
        var numbers = Array(0..<count)
        let room = numbers.capacity
        var taken: [Int] = []
        numbers.takeEach { taken.append($0) }
        #expect(taken == Array(0..<count) && numbers.isEmpty && numbers.capacity == room)
    }
}
