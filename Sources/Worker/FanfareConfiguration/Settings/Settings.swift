/// Every setting there is, in the order of the reference.
public enum Settings {
    public static let all: [Setting] = general + worker + project
}
