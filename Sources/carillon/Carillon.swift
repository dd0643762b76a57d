@main
enum Carillon {
    static func main() {}
}
